"""The study's page says what its results say; its statistics are right on made-up ones."""

import importlib.util
import json
from pathlib import Path
from random import Random

import pytest
from scipy.stats import spearmanr

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("study_page", ROOT / "tools" / "study_page.py")
study_page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(study_page)


def made(tmp_path, bleu, choices, scores=None):
    """An experiment with BLEU by BPE size, and what the criteria chose."""
    runs = [
        {"vocabulary": name, "seed": seed, "bleu": value, "pairs": 600,
         "size": 14_000 if name == "chosen:muv" else int(name.partition(":")[2]),
         "timing": {"train_cpu": 60.0 / (1 + seed), "translate_cpu": 2.0, "test_sentences": 100}}
        for name, values in bleu.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip
    sizes = sorted(int(name[4:]) for name in bleu if name.startswith("bpe:"))
    data = {
        "experiment": {"name": "made"},
        "model": {"model": "conv"},
        "muv_search": 1000,
        "muv_search_cpu": 1.5,
        "learn_cpu": 4.25,
        "p_values": {
            "bpe:1000": {"chosen:muv": {"0": 0.4, "1": 0.2, "2": 0.04}},
            "merge:4000": {"split:4000": {"1": 0.5}},
        },
        "choices": {
            name: {"size": choices.get(name), "vocabulary_size": 14_000}
            for name in study_page.CRITERIA
        },
        "scores": {
            name: dict(zip(map(str, sizes), (scores or {}).get(name, sizes), strict=True))
            for name in study_page.CRITERIA
        },
        "runs": runs,
    }
    path = tmp_path / "made.json"
    path.write_text(json.dumps(data))
    return study_page.Experiment(path)


BLEU = {"bpe:100": [10, 12], "bpe:1000": [20], "bpe:10000": [15], "chosen:muv": [14]}


def test_regret_is_against_the_best_that_was_tried(tmp_path):
    one = made(
        tmp_path,
        {**BLEU, "split:4000": [99]},
        {"mdl": 1000, "knee": 10_000, "renyi": 316, "zipf": 20_000},
    )
    assert one.best() == ("bpe:1000", 20)
    assert one.at_choice("mdl") == (20, True)
    assert one.at_choice("knee") == (15, True)
    assert one.at_choice("muv") == (14, True)
    value, tried = one.at_choice("renyi")  # halfway, on a logarithmic axis
    assert not tried
    assert value == pytest.approx((11 + 20) / 2, abs=0.01)
    assert one.at_choice("zipf") is None  # beyond all that was tried
    assert one.at_choice("frequency") is None
    table = study_page.regret_table([one])
    assert "| `mdl` | 1,000: 0.0 | 0.0 (1) |" in table
    assert "| `muv` | 14,000: 6.0 | 6.0 (1) |" in table
    assert "| `frequency` | chooses nothing | - |" in table


def test_tables_like_the_paper_s(tmp_path):
    """BPE of 100 and 10,000 tokens were trained because a criterion chose them: no search did."""
    one = made(tmp_path, {**BLEU, "bpe:15000": [16, 17], "bpe:200": [11]}, {"mdl": 1000})
    assert one.grid == ["bpe:200", "bpe:1000", "bpe:15000"]
    assert study_page.wide_table([one]).splitlines()[2] == (
        "| made | conv | 1,000: 20.0 | 15,000: 16.5 | 14,000: 14.0 | -6.0 | -2.5 |"
    )
    # Minutes of one seed, the last: 1 + 1 + 1 / 2.
    assert study_page.search_table([one]).splitlines()[2:] == [
        "| made | BPE-Search | 1,000 | 20.0 | 2 min (3 models) |",
        "| made | MUV-Search | 1,000 | 20.0 | 1.5 s |",
        "| made | VOLT | 14,000 | 14.0 | 4.2 s |",
    ]
    training, translating = study_page.speed_table([one]).splitlines()[2:]
    assert training == "| made | training | 10 | 10 (1.00x) |  |  | 20 (2.00x) |"
    assert translating == "| made | translating | 50 | 50 (1.00x) |  |  | 50 (1.00x) |"
    assert one.p_value("chosen:muv") == 0.2
    assert one.p_value("bpe:200") is None
    assert one.p_value("split:4000") == 0.5
    other = made(tmp_path, {"bpe:2000": [3], "chosen:muv": [4]}, {})
    assert "| MUV-Search | 1,000 | not trained | 1.5 s |" in study_page.search_table([other])


def test_plots_are_drawn_whatever_was_chosen(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    (tmp_path / "img").mkdir()
    monkeypatch.setattr(study_page, "DOCS", tmp_path)
    one = made(tmp_path, BLEU, dict.fromkeys(study_page.CRITERIA, 1000))
    study_page.bleu_plot([one, one, one])
    study_page.score_plot([one])
    for name, words in (("study-bleu", "knee"), ("study-scores", "BLEU")):
        assert words in (tmp_path / "img" / f"{name}.svg").read_text(encoding="utf-8")


def test_correlation_has_an_interval_around_it(tmp_path):
    bleu = {f"bpe:{size}": [value] for size, value in ((1, 1), (2, 5), (3, 4), (4, 7), (5, 9))}
    one = made(tmp_path, bleu, {}, {"muv": [5, 4, 3, 2, 1], "zipf": [1, 5, 4, 7, 9]})
    assert study_page.correlation(one.scores("zipf"), one.bleu) == pytest.approx(1.0)
    found, low, high = study_page.interval([one], "muv")
    assert found == pytest.approx(-0.9)
    assert -1 <= low < found < high <= 0.5
    assert study_page.interval([one], "muv") == (found, low, high)
    assert study_page.correlation([1, 1, 1], [1, 2, 3]) == 0
    random = Random(0)
    for _ in range(50):
        pair = [[random.randint(0, 6) for _ in range(8)] for _ in range(2)]
        assert study_page.correlation(*pair) == pytest.approx(spearmanr(*pair).statistic)


def test_the_page_is_that_of_the_results():
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    experiments = study_page.read_results()
    assert experiments
    for name, text in study_page.sections(experiments):
        assert f"<!-- study:{name} -->\n\n{text}\n" in page, "run tools/study_page.py"
