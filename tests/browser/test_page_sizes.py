"""Quality and cost over size in a real browser, and the choice for another model."""

import random
from dataclasses import replace

import numpy as np
import pytest
from pages import corpus, figures, number, show

import volt
from volt.choosing.cost import MODELS, cost, parse_model
from volt.choosing.criteria import CRITERIA
from volt.choosing.criteria.base import Evidence


def test_the_curves_have_what_the_result_has(page, learned):
    _, result = learned
    drawn = page.evaluate(
        """() => Object.fromEntries(["quality", "cost"].map((name) => [name,
             voltReport.rows.map((row) => [row.size, row.loss, row.extra, row.tokens])]))"""
    )["quality"]
    sizes, loss, extra, tokens = map(np.array, zip(*drawn, strict=True))
    quality, curve = result.quality, result.curve
    assert tokens.tolist() == curve.tokens[sizes - curve.size[0]].tolist()
    assert loss == pytest.approx(quality.at(sizes) / np.nanmin(quality.scores) - 1, abs=1e-9)
    price = cost(tokens, sizes, result.choice.model)
    assert extra == pytest.approx(price / price.min() - 1)
    # What is drawn: lines, the range, a star, a tick for each part of the text.
    for chart in ("quality", "cost"):
        view = f"#chart-{chart} svg"
        assert page.query_selector(f"{view} [aria-roledescription='line mark']"), chart
        assert page.query_selector(f"{view} .mark-rect.role-mark path"), chart
    ticks = page.query_selector_all("#chart-quality svg [aria-roledescription='tick']")
    assert len(ticks) == len(result.choice.splits) > 1
    legend = page.text("#sizes-legend")
    for words in (
        "within 0.5% of the best",
        "the answer",
        "parts of the text",
        "the VOLT paper, your sizes",
    ):
        assert words in legend


def zipf_counts(types=10_000):
    """Words whose counts fall as ranks rise, so that different models prefer different sizes."""
    generator = random.Random(5)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 4)))
             + generator.choice(["s", "ed", "ing", "er", "en", "ung", "ly", ""])
             for _ in range(types)]  # fmt: skip
    counts = volt.count([words])
    ranks = np.array(generator.sample(range(1, len(counts) + 1), len(counts)))
    numbers = np.maximum(1, 1e6 / ranks**1.5).astype(counts.counts.dtype)
    totals = replace(counts.totals, words=int(numbers.sum()))
    return replace(counts, counts=numbers, totals=totals)


OWN_MODELS = ["300M:1024", "1.5m:2000", "900:8", " 2B:64 "]


@pytest.fixture(scope="module")
def zipf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zipf") / "out"
    result = volt.learn(zipf_counts())
    result.save(folder)
    return folder, result


@pytest.fixture(scope="module")
def zipf_page(zipf, open_page):
    return open_page(zipf[0] / "report.html", keep=True)


def chosen_for(page, name):
    """What the page chooses for a model that is named in its field, as it says and marks it."""
    if name in MODELS:
        page.check(f"#model-list input[value='{name}']", force=True)
    else:
        page.fill("#model-own", name)
    said = int(number(page.text("#model-choice strong")))
    assert said == page.evaluate("() => voltReport.choice().size")
    return said


def test_the_choice_for_every_model_is_that_of_python(zipf_page, zipf):
    result = zipf[1]
    found, expected = {}, {}
    for name in [*MODELS, *OWN_MODELS]:
        model = parse_model(name.strip())
        evidence = Evidence(result.candidates, quality=result.quality, model=model)
        expected[name] = CRITERIA["auto"].score(evidence).size
        found[name] = chosen_for(zipf_page, name)
    assert found == expected
    assert found["base"] == result.choice.size
    assert len(set(found.values())) > 5  # they differ, so that there is something to compare
    assert zipf_page.text("#answer h1") == f"{result.choice.size:,} tokens"  # this one stays
    zipf_page.check_quiet()


@pytest.mark.parametrize("model", ["big", "70b", "1.5m:2000"])
def test_page_and_command_say_why(zipf_page, zipf, model):
    again = volt.learn(zipf[1].counts, for_model=model).choice
    assert chosen_for(zipf_page, model) == again.size
    found = zipf_page.evaluate("() => voltReport.choice()")
    assert (found["by"], found["lowest"]) == (again.reason, again.cheapest)


@pytest.mark.parametrize(
    "settings",
    [{"multiple_of": 100}, {"tolerance": 0.001}, {"size": 500}, {"merges": 2000},
     {"candidates": "substring:2000", "sizes": "500,1000,1500"}],
    ids=str,
)  # fmt: skip
def test_the_choice_is_that_of_python_for_other_runs(tmp_path, open_page, settings):
    """Other roundings and ranges, too few merges, and sizes that were measured only."""
    counts = zipf_counts(4000)
    result = volt.learn(counts, **settings)
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    auto = {one.criterion: one.size for one in result.choices}["auto"]
    assert page.evaluate("() => voltReport.choice().size") == auto
    for model in ("gpt2", "1M:512"):
        again = volt.learn(counts, **settings, for_model=model)
        auto = {one.criterion: one.size for one in again.choices}["auto"]
        assert chosen_for(page, model) == auto, model
    page.check_quiet()


def test_the_choice_is_that_of_python_for_weighted_counts(tmp_path, open_page):
    result = volt.learn([corpus(1), corpus(2)], weights=[0.5, 3], sizes="400:650:50")
    assert result.counts.unit == 2
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    assert page.evaluate("() => voltReport.choice().size") == result.choice.size
    for model in ("1.5m:2000", "900:8"):
        evidence = Evidence(result.candidates, quality=result.quality, model=parse_model(model))
        assert chosen_for(page, model) == CRITERIA["auto"].score(evidence).size


def test_a_model_that_cannot_be_read_is_asked_for_again(page):
    page.fill("#model-own", "300M")
    assert "for example 300M:1024" in page.text("#model-choice")
    assert page.get_attribute("#model-own", "aria-invalid") == "true"
    page.fill("#model-own", "300M:1024")
    assert page.get_attribute("#model-own", "aria-invalid") == "false"
    assert page.is_checked("#model-list input[value='']")
    assert "--for-model 300M:1024" in page.text("#model-choice")
    # With the keyboard, from one model to the next.
    page.focus("#model-list input[value='']")
    page.keyboard.press("ArrowRight")
    assert page.is_checked("#model-list input[value='base']")
    assert "--for-model" not in page.text("#model-choice")
    page.check_quiet()


def test_the_marker_shows_what_another_size_gives(page, learned):
    _, result = learned
    slider = page.query_selector("#marker")
    sizes = page.evaluate("() => voltReport.data.curve.size")
    page.check("#model-list input[value='base']", force=True)
    at = page.evaluate("() => Number(document.getElementById('marker').value)")
    assert sizes[at] == result.choice.size
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext").startswith(f"{sizes[1]:,} ")
    page.evaluate("() => voltReport.moveMarker(voltReport.data.curve.size.length - 1)")
    shown = figures(page, "#marker-figures")
    curve, lines = result.curve, result.counts.totals.lines
    assert number(shown["size in tokens"]) == curve.size[-1]
    per_line = curve.tokens[-1] / lines
    assert number(shown["tokens per line"]) == pytest.approx(per_line, abs=0.005)
    millions = curve.size[-1] * 512 / 1e6
    assert number(shown["embedding parameters"]) == pytest.approx(millions, abs=0.001)
    # Dragging in the chart does the same.
    show(page, "chart-quality")
    box = page.query_selector("#chart-quality svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 62, box["y"] + 50, steps=4)
    page.mouse.up()
    assert page.evaluate("() => Number(document.getElementById('marker').value)") < 40
    page.check_quiet()


def test_hovering_reads_exact_values(page, learned):
    show(page, "chart-cost")
    box = page.query_selector("#chart-cost svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 40)
    page.mouse.move(box["x"] + box["width"] * 0.3 + 2, box["y"] + 42)
    page.wait_for_function("() => !document.getElementById('tip').hidden")
    size, quality, _, length = page.text("#tip").splitlines()
    result = learned[1]
    row = result.curve.at_size(int(size.split()[0].replace(",", "")))
    lines = result.counts.totals.lines
    score = result.quality.at(result.curve.size[[row]])[0]
    assert number(quality.removeprefix("quality ")) == pytest.approx(score, abs=6e-5)
    assert length == f"{result.curve.tokens[row] / lines:.2f} tokens per line"
    page.mouse.move(5, 5)


def test_the_price_of_an_entry_is_drawn(open_page, tmp_path, page):
    result = volt.learn([corpus(3)], select="transport", size=450)
    result.save(tmp_path / "out")
    other = open_page(tmp_path / "out" / "report.html")
    selection = result.summary()["selection"]
    points = other.query_selector_all("#chart-mu svg .mark-symbol.role-mark path")
    assert len(points) == len(selection["mu"]["sizes"]) + 1  # and the star
    lead = other.text("#mu-lead")
    assert f"one less would cost {selection['one_less']:g} tokens of text" in lead
    assert not page.is_visible("#mu")
    other.check_quiet()
