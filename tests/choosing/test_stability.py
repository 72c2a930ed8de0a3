"""The answer holds still: ten more lines, growing text and other seeds barely move it."""

import os
import runpy
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "stability.py"))


@pytest.fixture(scope="module", params=["Tatoeba de", "Multi30k de+en", "Tatoeba tr+en"])
def corpus(request):
    if "VOLT_DATA" not in os.environ:
        pytest.skip("VOLT_DATA names no folder with real text")
    return TOOL["read_corpus"](request.param, Path(os.environ["VOLT_DATA"]))


@pytest.mark.parametrize(("lines", "most"), [(1000, 0.15), (5000, 0.05), (20_000, 0.05)])
def test_ten_more_lines_barely_move_it(corpus, lines, most):
    size = corpus.size(lines)
    assert abs(corpus.size(lines + 10) / size - 1) < most


def test_more_text_never_makes_it_fall_by_much(corpus):
    sizes = [corpus.size(lines) for lines in (1000, 2500, 5000, 10_000, 20_000, 32_000)]
    for before, after in pairwise(sizes):
        assert after > before * 0.9


def test_other_seeds_choose_nearly_the_same(corpus):
    sizes = corpus.seeds(5000)
    middle = statistics.median(sizes)
    assert len(set(sizes)) > 1  # the seed does something
    for size in sizes:
        assert abs(size / middle - 1) < 0.12


def test_where_it_lies_bleu_is_within_0_3_of_the_best_size():
    """On the texts of the study, with the BLEU that is in docs/study."""
    if "VOLT_DATA" not in os.environ:
        pytest.skip("VOLT_DATA names no folder with real text")
    losses = {
        one.experiment: one.loss for one in TOOL["study_losses"](Path(os.environ["VOLT_DATA"]))
    }
    assert len(losses) >= 6
    assert max(losses.values()) <= 0.3, losses
