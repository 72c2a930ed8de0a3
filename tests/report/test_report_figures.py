"""Figures for papers, notebooks, and the library that charts need."""

import html as html_module
import re
import shlex
import subprocess
import sys

import numpy as np
import pytest

import volt
from volt.base.lines import Line
from volt.choosing.cost import cost
from volt.cli import learn as cli_learn
from volt.formats import FORMATS
from volt.report import bundle, notebook
from volt.report.answer import answer
from volt.report.data import overview
from volt.report.facts import facts
from volt.report.page import load_material
from volt.report.plot import material_figure, render, result_figure
from volt.report.terminal import next_lines, spark, sparkline, summary

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


def labelled(axes):
    return {line.get_label(): line for line in axes.lines}


def test_the_figure_shows_quality_and_cost(result):
    upper, lower = result_figure(result).axes
    quality, curve, choice = result.quality, result.curve, result.choice
    scores = 100 * (quality.scores / np.nanmin(quality.scores) - 1)
    line = labelled(upper)["held-out bits per byte"]
    reached = ~np.isnan(scores)
    assert line.get_xdata().tolist() == quality.sizes[reached].tolist()
    assert line.get_ydata() == pytest.approx(scores[reached])
    price = cost(curve.tokens, curve.size, choice.model)
    line = next(line for name, line in labelled(lower).items() if str(name).startswith("cost for"))
    expected = 100 * (price / price.min() - 1)[np.searchsorted(curve.size, line.get_xdata())]
    assert line.get_ydata() == pytest.approx(expected)
    assert labelled(upper)["parts of the text"].get_xdata().tolist() == list(choice.splits)
    for axes in (upper, lower):
        band, star = axes.patches[0], next(one for one in axes.lines if one.get_marker() == "*")
        assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx(choice.range)
        assert star.get_xdata()[0] == choice.size


def test_the_paper_has_its_figure(result):
    upper, lower = result_figure(result, "paper").axes
    curve, *_ = upper.lines
    assert np.allclose(
        np.interp(result.curve.size, curve.get_xdata(), curve.get_ydata()),
        result.curve.entropy_types, atol=1e-4,
    )  # fmt: skip
    labels = labelled(upper)
    for choice in result.choices:
        if choice.size is not None:
            assert f"{choice.criterion} {choice.size:,}" in labels
    assert labels["the choice"].get_xdata()[0] == result.choice.size
    heights = [bar.get_height() for bar in lower.patches]
    assert heights == pytest.approx([step.muv * 1e6 for step in result.steps[1:]])


def test_everything_is_told_apart_in_grey(result):
    upper, lower = result_figure(result, "paper").axes
    dashes = [
        str(line._unscaled_dash_pattern) for line in upper.lines
        if re.match(r"[a-z]+ [0-9,]+$", str(line.get_label()))
    ]  # fmt: skip
    assert len(set(dashes)) == len(dashes) > 3
    assert sum(bar.get_hatch() is not None for bar in lower.patches) == 1


@pytest.mark.parametrize("shows", ["answer", "paper"])
def test_a_fixed_size_has_its_star_there(shows):
    result = volt.learn([LINES], sizes="289:324:5", merges=200, size=320)
    axes = result_figure(result, shows).axes[0]
    star = next(line for line in axes.lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == result.choice.size == 320


def test_a_result_shows_itself_in_a_notebook(result):
    shown = html_module.unescape(result._repr_html_())
    first, *rows = answer(result.summary()).lines
    assert f"<b>{first}</b>" in shown
    for row in rows:
        name, sentence = re.sub("`([^`]+)`", r"<code>\1</code>", row).split(maxsplit=1)
        assert f"{name}</td><td style='text-align:left'>{sentence}</td>" in shown
    for choice in result.choices:
        assert f">{choice.criterion}</td>" in shown
        assert choice.measures in shown
    for fact in facts(result.vocabulary, result.summary(), overview(result)):
        assert f">{fact.name}</td>" in shown
        assert f">{fact.value}</td>" in shown
    assert "data:image/svg+xml;base64," in shown
    assert "<script" not in shown


def test_a_tokenizer_shows_its_tokens_and_nothing_runs(result, monkeypatch):
    tokenizer = volt.Tokenizer(result.vocabulary)
    monkeypatch.setattr(notebook, "SAMPLE", f"slow {HOSTILE} ŵ")
    html = tokenizer._repr_html_()
    assert "<img" not in html
    shown = re.findall(r"<span[^>]*>(.*?)</span>", html)
    assert [html_module.unescape(one) for one in shown] == [
        tokenizer.tokens[i].replace("</w>", "␣") for i in tokenizer.encode(notebook.SAMPLE)
    ]


def test_a_text_is_shown_in_tokens():
    result = volt.learn(["low slow\nlower"] * 20, pretokenizer="byte-level")
    shown = result.tokenizer.show("low\nslow é")
    assert "".join(shown.tokens).startswith("low\nslow ")
    assert shown.ids == result.tokenizer.encode("low\nslow é")
    assert shown.tokens[-2:] == [r"\xc3", r"\xa9"]  # parts of a character, as in the report
    assert str(shown).replace("|", "").startswith("low⏎slow␣")
    html = shown._repr_html_()
    assert html.count("<span") == len(shown.ids)
    assert html.count("<br>") == 1
    assert f"{len(shown.ids)} tokens" in html


def test_a_comparison_shows_its_table(result, tmp_path):
    result.save(tmp_path / "<b>x</b>", report=False)
    found = volt.compare([tmp_path / "<b>x</b>"], [LINES])
    html = found._repr_html_()
    assert "<b>x" not in html
    assert f">{found.rows[0].tokens:,}</td>" in html
    assert "<th>tok/word</th>" in html


def test_a_result_plots_itself(result):
    figure = result.plot()
    assert figure._repr_svg_().startswith("<?xml")
    assert len(figure.axes) == 2
    assert "MUV" in result.plot("paper").axes[1].get_ylabel()


def test_without_matplotlib_a_notebook_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install &#x27;volt-vocab[report]&#x27;" in result._repr_html_()


# ----------------------------------------------------------------------------------------- terminal


def test_the_small_curve_is_that_of_quality_with_its_range_and_the_choice(result):
    curve = spark(result, result.summary(), 40)
    about, bars, pointer, axis = sparkline(curve)
    heights = ["▁▂▃▄▅▆▇█".index(bar) for bar in bars.strip()]
    order = np.argsort(curve.values, kind="stable")
    assert (np.diff(np.array(heights)[order]) >= 0).all()
    assert {min(heights), max(heights)} == {0, 7}
    best = np.nanmin(result.quality.scores)
    assert np.allclose(curve.values, np.minimum(result.quality.at(curve.sizes), 1.05 * best))
    at = pointer.index("^") - 2
    assert abs(np.log(curve.sizes[at] / result.choice.size)) == pytest.approx(
        np.abs(np.log(curve.sizes / result.choice.size)).min()
    )
    low, high = result.quality.range
    marked = {i - 2 for i, c in enumerate(pointer[: 2 + len(curve.sizes)]) if c in "-^"}
    assert {i for i, size in enumerate(curve.sizes) if low < size < high} <= marked
    assert about == f"held-out bits per byte, low is good: {best:.3f} (the best) to 5% above"
    sizes = f"{curve.sizes[0]:,} to {curve.sizes[-1]:,} tokens, logarithmic"
    assert axis == f"  {sizes}; ---- within 0.5% of the best"
    assert pointer.endswith(f" chosen: {result.choice.size:,}")
    assert pointer.count("^") == 1
    plain = sparkline(curve, unicode=False)
    assert "".join(plain).isascii()


@pytest.mark.parametrize(
    "settings", [{}, {"size": 320}, {"criterion": "mdl", "for_model": "44M:2"}], ids=str
)
def test_a_summary_is_a_screen_for_every_kind_of_choice(tmp_path, settings):
    result = volt.learn([LINES], sizes="289:324:5", merges=200, **settings)
    lines = summary(result, tmp_path, ["volt.json"])
    assert len(lines) <= 32
    texts = [line.text for line in lines]
    first = answer(result.summary()).lines
    assert texts[1 : 1 + len(first)] == first
    assert [line.style for line in lines[:3]] == ["", "bold", ""]
    for fact in facts(result.vocabulary, result.summary(), overview(result)):
        assert (fact.line in texts) == (fact.name != "text")
    # What the other criteria say is on the page, with what they measure.
    named = [one for one in result.choices if one.criterion in ("auto", "muv")]
    for one in named:
        assert f"{one.size:,}" in " ".join(first), one.criterion
    assert "as information" not in " ".join(texts)


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level:qwen2"])
def test_the_next_command_works(tmp_path, pretokenizer):
    result = volt.learn([LINES], pretokenizer=pretokenizer)
    folder = tmp_path / "a folder"
    result.save(folder, report=False)
    line, others = next_lines(result.vocabulary, folder, ["volt.json"])
    program, *arguments = shlex.split(line.text.removeprefix("next: "))
    assert program == "volt"
    # In a process of its own: the program sets signals.
    done = subprocess.run([sys.executable, "-m", "volt", *arguments], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a folder-hf" / "tokenizer.json").exists()
    assert others.text.startswith("  for other toolkits: --to ")
    named = others.text.rpartition("--to ")[2].replace(" (also for Marian)", "").split(", ")
    takes = {name for name, form in FORMATS.items() if not form.refuse(result.vocabulary)}
    # As on the page, Marian gets a model where there can be one.
    assert {*named} == takes - {"hf"} - ({"marian"} if "sentencepiece" in takes else set())
    look, *_ = next_lines(result.vocabulary, folder, ["volt.json", "report.html"])
    assert look.text.startswith(f"look at: {folder / 'report.html'} (")


def test_doubts_are_in_the_first_line_and_not_said_twice(tmp_path):
    result = volt.learn([LINES], sizes="289:294:5", merges=200, criterion="muv")
    (doubt,) = result.choice.verdict.doubts
    lines = [line.text for line in summary(result, tmp_path, [])]
    assert [i for i, line in enumerate(lines) if doubt in line] == [1]


def test_long_lines_are_folded_below_their_sentence():
    line = Line("  cost      lowest at 10,118, rounded to 10,112 (--for-model)", indent=12)
    assert line.wrapped(50) == [
        "  cost      lowest at 10,118, rounded to 10,112",
        "            (--for-model)",
    ]
    assert line.wrapped(100) == [line.text]
    assert Line("a " * 100).wrapped(40) == ["a " * 100]
    # Too narrow for a column: below the start of the line.
    assert line.wrapped(30) == [
        "  cost      lowest at 10,118,",
        "    rounded to 10,112",
        "    (--for-model)",
    ]


def test_the_summary_fits_a_terminal_of_80_columns(tmp_path):
    lines = summary(volt.learn([LINES * 9], merges=200), tmp_path, ["volt.json"])
    folded = [part for line in lines for part in line.wrapped(80)]
    assert max(map(len, folded)) <= 80
    assert len(folded) <= 40


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
    assert last == f"  pip install 'volt-vocab[report]' && volt report {tmp_path / 'out'}"
    assert (tmp_path / "out" / "report.json").exists()
    assert not (tmp_path / "out" / "report.html").exists()
    with pytest.raises(volt.SettingsError, match=r"pip install 'volt-vocab\[report\]'"):
        bundle.vega_bundle()
