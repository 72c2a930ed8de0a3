"""The words of a text as a tokenizer makes them, and how it cuts the text."""

import pytest
from vocabularies import made

from volt.adapting.words import fit_engine
from volt.foreign.volt_engine import Native
from volt.tokenizing.tokenizer import Tokenizer


@pytest.mark.parametrize("document", ["low low\nlower\n", "low low\nlower", "low low\r\nlower\r\n"])
def test_a_line_end_at_the_end_is_not_one_more_line(document: str) -> None:
    engine = Native(Tokenizer(made(["low", "lower"], 0)), "volt")
    found = fit_engine(engine, [document])
    assert found.tokens_per_line == found.tokens / 2
