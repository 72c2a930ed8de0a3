"""A trial's report.html in a real browser."""

import pytest

from volt.trial.page import make_trial_page
from volt.trial.results import RunResult, TrialResults

HOSTILE = "</script><img src=x onerror=alert(1)>"


def made(vocabulary, size, bleu, seed=0):
    history = [[step, step / 10, 3 / step, 2 / step + seed / 50] for step in (1, 2, 3)]
    return RunResult(
        vocabulary, seed, size, bleu=bleu, bleu_95=1.25, chrf=bleu + 20, chrf_95=1.0,
        bits_per_byte=1.5 - bleu / 50, bits_95=0.02, valid_bits_per_byte=0.9, averaged=5,
        parameters=100 * size, source_tokens=20.0, target_tokens=18.0, unknown=0, updates=30,
        epochs=0.3, sentences=900, device="cpu", stopped_early=False, model_digest="",
        history=history,
        timing={"train": 9.0, "train_cpu": 8.0, "translate": 1.0, "test_sentences": 10,
                "total": 12.0},
    )  # fmt: skip


def results(seeds):
    runs = [
        made(name, size, bleu + seed, seed)
        for name, size, bleu in (("bpe:1000", 1004, 27.0), ("bpe:8000", 8004, 31.5),
                                 (HOSTILE, 5000, 30.0))
        for seed in range(seeds)
    ]  # fmt: skip
    return TrialResults(
        task="translation",
        settings={
            "model": {"model": "conv", "width": 128, "encoder_layers": 2, "decoder_layers": 2,
                      "body": 460_000},
            "training": {"warmup": 30, "minutes": None}, "sentences": {"train": 29_000},
            "seeds": seeds,
        },
        signatures={"BLEU": "nrefs:1|tok:13a"},
        runs=runs,
        p_values={"bpe:8000": [0.01] * seeds, HOSTILE: [0.2] * seeds},
        p_values_of_bits={},
        criteria=[{"criterion": "muv", "size": 5000, "interval": None},
                  {"criterion": "mdl", "size": 1300, "interval": None}],
        messages=["3 training pairs left out"],
    )  # fmt: skip


@pytest.fixture(scope="module", params=[1, 2])
def page(request, open_page, tmp_path_factory):
    found = results(request.param)
    path = tmp_path_factory.mktemp("trial") / "report.html"
    path.write_bytes(make_trial_page(found))
    return open_page(path, keep=True), found, request.param


def test_the_table_and_the_notes(page):
    shown, found, seeds = page
    shown.check_quiet()
    rows = shown.query_selector_all("#rows tbody tr")
    assert [row.query_selector("td").inner_text() for row in rows] == found.vocabularies
    first = [cell.inner_text() for cell in rows[0].query_selector_all("td")]
    assert first[4:6] == ["27.00" if seeds == 1 else "27.50 ±0.71", "1.25"]
    assert "3 training pairs left out" in shown.text("#notes")
    assert "conv, width 128" in shown.text("#lead")


def test_bleu_over_size_has_error_bars_and_the_choices(page):
    shown, _, seeds = page
    charts = shown.query_selector_all("#charts figure")
    assert len(charts) == 5
    assert all(chart.query_selector("svg") for chart in charts)
    caption = charts[0].query_selector("figcaption").inner_text()
    assert ("standard deviation over seeds" in caption) == (seeds > 1)
    bars, choices = charts[0].query_selector_all("svg .mark-rule.role-mark")
    heights = [bar.bounding_box()["height"] for bar in bars.query_selector_all("line")]
    assert len(heights) == 3 and min(heights) > 5
    assert len(choices.query_selector_all("line")) == 2
    labels = [one.text_content() for one in charts[0].query_selector_all("svg .mark-text text")]
    assert {"muv", "mdl"} <= set(labels)


def test_quality_against_speed_and_parameters_names_every_vocabulary(page):
    shown, found, _ = page
    for chart in shown.query_selector_all("#charts figure")[2:4]:
        points = chart.query_selector_all("svg .mark-symbol.role-mark path")
        assert len(points) == len(found.vocabularies)
        labels = {one.text_content() for one in chart.query_selector_all("svg .mark-text text")}
        assert labels >= set(found.vocabularies)
