"""The study's page says what its results say; its statistics are right on made-up ones."""

import importlib
import json
import sys
from pathlib import Path
from random import Random

import pytest
from scipy.stats import spearmanr

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def study_page():
    sys.path.insert(0, str(ROOT / "tools"))
    yield importlib.import_module("study_page")
    sys.path.remove(str(ROOT / "tools"))


def made(study_page, bits, choices=None, *, name="made", languages=("de",), question="size", of="",
         bleu=None, scores=None):  # fmt: skip
    """An experiment with bits per byte by BPE size, one or more seeds each."""
    records = [
        {"vocabulary": f"bpe:{size}", "size": size, "seed": seed, "bits_per_byte": value,
         "bleu": bleu and bleu[size], "chrf": 50.0, "updates": 100,
         "timing": {"train_cpu": 60.0}}
        for size, values in bits.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip
    sizes = sorted(bits)
    return study_page.Results({
        "experiment": {"name": name, "corpus": "text", "languages": languages,
                       "question": question, "of": of},
        "corpus": {
            "choices": {key: {"size": size} for key, size in (choices or {}).items()},
            "quality": {"3": {"sizes": sizes, "range": [sizes[0], sizes[-1] * 2],
                              "scores": scores or [1.0] * len(sizes)}},
        },
        "records": records,
    })  # fmt: skip


BITS = {100: [2.0, 2.2], 1000: [2.0], 10000: [2.5]}


def test_regret_is_against_the_best_size(study_page):
    one = made(study_page, BITS, {"auto": 1000, "mdl": 316, "zipf": 20_000, "knee": None})
    assert one.regret(one.choice("auto"), "bits_per_byte") == 0
    assert one.regret(10_000, "bits_per_byte") == pytest.approx(25)
    # Halfway on a logarithmic axis, between the mean of two seeds and 2.0.
    assert one.regret(one.choice("mdl"), "bits_per_byte") == pytest.approx(2.5, abs=0.01)
    assert one.regret(one.choice("zipf"), "bits_per_byte") is None
    assert one.regret(one.choice("knee"), "bits_per_byte") is None
    assert one.regret(one.choice("renyi"), "bits_per_byte") is None
    few = made(study_page, {100: [2.0], 1000: [1.0]}, {"auto": 1000})
    assert few.regret(1000, "bits_per_byte") is None
    row = study_page.answer_table([one]).splitlines()[2]
    assert row == ("| `made` | 1,000 | 2.0000 | 1,000 | 100 to 20,000 | 0.00 | 5.00 | - | 0.00 |")
    table = study_page.regret_table([one, few], "bits_per_byte").splitlines()
    assert table[2:] == ["| `auto` | 0.00 | 0.00 | 1 of 2 |", "| `mdl` | 2.50 | 2.50 | 1 of 2 |"]


def test_regret_in_bleu(study_page):
    one = made(study_page, BITS, {"auto": 10_000}, languages=("de", "en"),
               bleu={100: 20.0, 1000: 30.0, 10_000: 29.0})  # fmt: skip
    assert one.regret(10_000, "bleu") == pytest.approx(1.0)
    assert "| `auto` | 1.00 | 1.00 | 1 of 1 |" in study_page.regret_table([one], "bleu")
    assert "| `made` | 1,000: 30.0 | 10,000: 29.0 | - | 10,000: 29.0 |" in (
        study_page.wide_table([one])
    )
    assert "| `made` | 1,000 | 30.0 | 3 models, 3 core minutes |" in study_page.search_table([one])


def test_schedules_are_compared(study_page):
    first = made(study_page, BITS, name="first")
    other = made(study_page, BITS, name="other", question="schedule", of="first")
    lines = study_page.compared_table([first, other], ["schedule"]).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| `first`", "| `other`"]
    assert "100: +5.00%, 1,000: +0.00%, 10,000: +25.00%" in lines[2]
    assert "ot trained yet" in study_page.compared_table([first], ["schedule"])


def test_correlation_is_spearman_s(study_page):
    one = made(study_page, {1: [1], 2: [5], 3: [4], 4: [7]}, scores=[4.0, 3.0, 2.0, 1.0])
    assert one.correlation() == pytest.approx(-0.8)
    assert study_page.correlation([1, 1, 1], [1, 2, 3]) == 0
    random = Random(0)
    for _ in range(50):
        pair = [[random.randint(0, 6) for _ in range(8)] for _ in range(2)]
        assert study_page.correlation(*pair) == pytest.approx(spearmanr(*pair).statistic)


def with_curve(study_page, name, bits, scores, **more):
    """An experiment whose quality curve is the same for every order but that of `scores`."""
    one = made(study_page, bits, {"auto": 1000}, name=name, **more)
    sizes = sorted(bits)
    one.data["corpus"]["tokens"] = {str(size): 10_000 // size for size in sizes}
    one.data["corpus"]["quality"] = {
        str(order): {"sizes": sizes, "scores": scores[order]} for order in (2, 3, 4)
    }
    return one


CURVES = {2: [2.0, 1.5, 1.0], 3: [1.1, 1.0, 1.1], 4: [1.0, 1.5, 2.0]}


def test_auto_with_other_constants(study_page):
    verdict = study_page.study_verdict
    one = with_curve(study_page, "made", {100: [2.0], 1000: [1.0], 10_000: [2.0]}, CURVES)
    assert [verdict.choice(one, verdict.Constants(order, 0.0)) for order in (2, 3, 4)] == [
        10_000, 1000, 100,
    ]  # fmt: skip
    # Ten per cent of the way to 1.1, on a logarithmic axis, at the upper end: 10 ** 3.1, rounded.
    assert verdict.choice(one, verdict.Constants(3, 0.01)) == 1256
    assert verdict.chosen(one, verdict.DEFAULT) == 1000  # as it was chosen then


def test_constants_are_fixed_on_one_half_and_judged_on_the_other(study_page):
    verdict = study_page.study_verdict
    small, large = ({100: [a], 1000: [2.0], 10_000: [b]} for a, b in ((1.0, 3.0), (3.0, 1.0)))
    four = [with_curve(study_page, name, bits, CURVES)
            for name, bits in zip("dbca", (large, large, small, small), strict=True)]  # fmt: skip
    first, second = verdict.halves(four, "bits_per_byte")
    assert [[one.name for one in half] for half in (first, second)] == [["a", "c"], ["b", "d"]]
    best, means = verdict.fixed(first, "bits_per_byte")
    assert best == verdict.Constants(4, 0.0)
    assert means[best] == 0
    assert means[verdict.Constants(2, 0.0)] == pytest.approx(200)
    lines = study_page.verdict(four, "bits_per_byte").splitlines()
    assert "| `auto` with order 4, 0% | 200.00 | 200.00 to 200.00 | 200.00 | 2 of 2 |" in lines
    assert "| `auto` | 100.00 | 100.00 to 100.00 | 100.00 | 2 of 2 |" in lines
    assert "ot trained yet" in study_page.verdict(four, "bleu")


def test_interval_of_a_mean(study_page):
    low, high = study_page.study_verdict.interval([0.0] * 50 + [1.0] * 50)
    assert low == pytest.approx(0.4, abs=0.02)
    assert high == pytest.approx(0.6, abs=0.02)


def test_plots_are_drawn(study_page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    (tmp_path / "img").mkdir()
    monkeypatch.setattr(study_page, "DOCS", tmp_path)
    study_page.size_plot([made(study_page, BITS, {"auto": 1000})], "study-lm")
    assert "made" in (tmp_path / "img" / "study-lm.svg").read_text(encoding="utf-8")
    study_page.size_plot([], "study-lm")
    assert not (tmp_path / "img" / "study-lm.svg").exists()


def test_every_record_has_bits_per_byte():
    for path in (ROOT / "docs" / "study").glob("*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        seen = [(one["vocabulary"], one["seed"]) for one in found["records"]]
        assert len(seen) == len(set(seen))
        for one in found["records"]:
            assert 0 < one["bits_per_byte"] < 8
            assert one["experiment"] == path.stem


def test_the_page_is_that_of_the_results(study_page):
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    results = study_page.read_results()
    assert results
    for name, text in study_page.sections(results):
        assert f"<!-- study:{name} -->\n\n{text}\n" in page, "run tools/study_page.py"
    for name in set(study_page.re.findall(r"img/study[a-z-]*\.svg", page)):
        assert (ROOT / "docs" / name).exists(), name
