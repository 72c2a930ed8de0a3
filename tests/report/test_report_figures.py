"""Figures for papers, notebooks, and the library that charts need."""

import re
import sys

import numpy as np
import pytest

import volt
from volt.cli import learn as cli_learn
from volt.report import bundle, notebook
from volt.report.page import load_material
from volt.report.plot import material_figure, render, result_figure
from volt.report.terminal import sparkline, summary

HOSTILE = "</script><img src=x onerror=alert(1)>"
LINES = [f"low lower lowest slow slower {HOSTILE} new newer newest wide wider widest"] * 60


@pytest.fixture(scope="module")
def result():
    return volt.learn(
        [LINES], sizes="35:70:5", merges=200, pretokenizer="whitespace",
        special=["<unk>", HOSTILE],
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures") / "out"
    result.save(folder)
    return folder


@pytest.mark.parametrize(
    ("form", "head"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_a_figure_is_the_same_bytes_every_time(folder, form, head):
    data = render(material_figure(load_material(folder)), form)
    assert data.startswith(head)
    assert data == render(material_figure(load_material(folder)), form)
    assert b"matplotlib.org" not in data or form == "svg"  # its SVG names its DTD


def test_the_figure_shows_the_result(result):
    figure = result_figure(result)
    upper, lower = figure.axes
    curve, *_ = upper.lines
    assert np.allclose(
        np.interp(result.curve.size, curve.get_xdata(), curve.get_ydata()),
        result.curve.entropy_types, atol=1e-4,
    )  # fmt: skip
    labels = {line.get_label(): line for line in upper.lines}
    for choice in result.choices:
        if choice.size is not None:
            assert f"{choice.criterion} {choice.size:,}" in labels
    star = labels["the choice"]
    assert star.get_xdata()[0] == result.choice.size
    heights = [bar.get_height() for bar in lower.patches]
    assert heights == pytest.approx([step.muv * 1e6 for step in result.steps[1:]])


def test_everything_is_told_apart_in_grey(result):
    upper, lower = result_figure(result).axes
    dashes = [
        str(line._unscaled_dash_pattern) for line in upper.lines
        if re.match(r"(muv|mdl|frequency|renyi|zipf|knee) ", str(line.get_label()))
    ]  # fmt: skip
    assert len(set(dashes)) == len(dashes) > 3
    assert sum(bar.get_hatch() is not None for bar in lower.patches) == 1


def test_a_fixed_size_has_its_star_there():
    result = volt.learn([LINES], sizes="289:324:5", merges=200, size=320)
    star = next(line for line in result_figure(result).axes[0].lines
                if line.get_label() == "the choice")  # fmt: skip
    assert star.get_xdata()[0] == result.choice.size == 320


def test_a_result_shows_itself_in_a_notebook(result):
    html = result._repr_html_()
    assert f"muv chose {result.choice.size}" in html
    for choice in result.choices:
        assert f"<td>{choice.criterion}</td>" in html
    assert "data:image/svg+xml;base64," in html
    assert "<script" not in html


def test_a_tokenizer_shows_its_tokens_and_nothing_runs(result, monkeypatch):
    tokenizer = volt.Tokenizer(result.vocabulary)
    monkeypatch.setattr(notebook, "SAMPLE", f"slow {HOSTILE} ŵ")
    html = tokenizer._repr_html_()
    assert "<img" not in html
    shown = re.findall(r"<span[^>]*>(.*?)</span>", html)
    import html as html_module

    assert [html_module.unescape(one) for one in shown] == [
        tokenizer.tokens[i] for i in tokenizer.encode(notebook.SAMPLE)
    ]


def test_without_matplotlib_a_notebook_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install &#x27;volt-vocab[report]&#x27;" in result._repr_html_()


# ----------------------------------------------------------------------------------------- terminal


def test_the_sparkline_falls_and_points_at_the_choice(result):
    about, bars, pointer = sparkline(result, width=40)
    heights = ["▁▂▃▄▅▆▇█".index(bar) for bar in bars.strip()]
    values = result.curve.entropy_types[result.curve.spread(40)]
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(heights)[order]) >= 0).all()
    assert {min(heights), max(heights)} == {0, 7}
    assert pointer.strip().startswith(f"^ {result.choice.size} ")
    assert f"{values[0]:.2f} to {values[-1]:.2f}" in about
    plain = sparkline(result, width=40, unicode=False)
    assert "".join(plain).isascii()


def test_a_summary_is_a_screen_for_every_kind_of_choice(tmp_path):
    for settings in ({}, {"size": 320}, {"criterion": "mdl", "model_width": 2}):
        result = volt.learn([LINES], sizes="289:324:5", merges=200, **settings)
        lines = summary(result, tmp_path, ["volt.json"])
        assert len(lines) <= 24
        assert lines[1].style == "bold"
        assert max(len(line.text) for line in lines) < 140


# --------------------------------------------------------------------------------- charting library


def test_the_library_is_put_together_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert bundle.is_installed()
    assert not bundle.is_cached()
    script = bundle.vega_bundle()
    assert bundle.is_cached()
    assert "vegaEmbed" in script
    assert "</script" not in script.lower()
    assert "<!--" not in script
    (kept,) = (tmp_path / "cache" / "volt").iterdir()
    kept.write_text("kept")
    assert bundle.vega_bundle() == "kept"


def test_without_the_extra_learning_goes_on_and_says_how_to_get_the_page(
    result, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(bundle, "is_installed", lambda: False)
    result.save(tmp_path / "out")
    cli_learn._tell(result, tmp_path / "out", quiet=False)
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"pip install 'volt-vocab[report]', then: volt report {tmp_path / 'out'}")
    assert (tmp_path / "out" / "report.json").exists()
    assert not (tmp_path / "out" / "report.html").exists()
    with pytest.raises(volt.SettingsError, match=r"pip install 'volt-vocab\[report\]'"):
        bundle.vega_bundle()
