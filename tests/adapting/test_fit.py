"""The words of a text as a tokenizer makes them, and how it cuts the text."""

from pathlib import Path

import pytest
from vocabularies import made

import volt
from volt.adapting.words import fit_engine
from volt.foreign.volt_engine import Native
from volt.tokenizing.tokenizer import Tokenizer


@pytest.mark.parametrize("document", ["low low\nlower\n", "low low\nlower", "low low\r\nlower\r\n"])
def test_a_line_end_at_the_end_is_not_one_more_line(document: str) -> None:
    engine = Native(Tokenizer(made(["low", "lower"], 0)), "volt")
    found = fit_engine(engine, [document])
    assert found.tokens_per_line == found.tokens / 2


@pytest.mark.parametrize("mode", ["metaspace", "byte-level"])
def test_nats_per_character_are_those_of_compare(mode: str, tmp_path: Path) -> None:
    """Per character of the text, not per byte, where tokens are bytes."""
    lines = ["天気がいい から 散歩", "散歩 しよう", "いい 天気 です ね"] * 99
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    learned = volt.learn([tmp_path / "text"], pretokenizer=mode)
    learned.save(tmp_path / "out")
    compared = volt.compare([tmp_path / "out"], tmp_path / "text").rows[0]
    found = volt.extend(learned.vocabulary, [tmp_path / "text"], 1).before
    assert compared.entropy_per_character == pytest.approx(found.entropy_per_character, rel=0.01)
