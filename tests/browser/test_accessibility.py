"""axe-core finds nothing serious, in both colour schemes and on a phone; the keyboard reaches
everything."""

from importlib import util
from pathlib import Path

import pytest
from pages import corpus

import volt
from volt.report.page import make_comparison_page

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="session")
def axe():
    """The text of axe-core, which a package for playwright carries."""
    found = util.find_spec("axe_playwright_python")
    if found is None:
        pytest.skip("needs axe-playwright-python, which carries axe-core: make large")
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


def violations(page, axe):
    """Rules that something on the page breaks, and where."""
    page.evaluate(axe)
    found = page.evaluate("async () => (await axe.run()).violations")
    return [(one["id"], one["impact"], [node["target"] for node in one["nodes"]][:3])
            for one in found]  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 390), ("dark", 390)]
)
def test_axe_finds_nothing_serious(learned, open_page, axe, scheme, width):
    page = open_page(
        learned[0] / "report.html", color_scheme=scheme, viewport={"width": width, "height": 900}
    )
    for box in page.query_selector_all("details"):
        box.evaluate("(box) => { box.open = true; }")
    page.set_input_files("#other-file", learned[0] / "volt.json")
    page.wait_for_selector("#other h3")
    found = violations(page, axe)
    assert [one for one in found if one[1] in SERIOUS] == []


def test_axe_finds_nothing_serious_where_languages_and_selection_are(open_page, axe, tmp_path):
    texts = {"xx": [corpus(1)], "yy": [corpus(2)]}
    volt.learn(texts, select="transport", size=500).save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    assert page.query_selector("#chart-mu svg")
    assert page.is_visible("#languages")
    assert [one for one in violations(page, axe) if one[1] in SERIOUS] == []


def test_axe_finds_nothing_serious_in_a_comparison(learned, open_page, axe, tmp_path):
    path = tmp_path / "compare.html"
    path.write_bytes(make_comparison_page(volt.compare([learned[0]] * 2, [corpus(1)])))
    assert [one for one in violations(open_page(path), axe) if one[1] in SERIOUS] == []


def test_the_keyboard_reaches_every_control(learned, open_page):
    page = open_page(learned[0] / "report.html", viewport={"width": 1200, "height": 900})
    wanted = page.evaluate(
        """() => [...document.querySelectorAll("a, button:not(:disabled), select, textarea,"
             + "summary, .scroll, .chips, input:not([type=radio]), input:checked")]
             .filter((one) => one.checkVisibility()).length"""
    )
    reached = page.evaluate("() => { window.reached = new Set(); }")
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        page.evaluate("() => window.reached.add(document.activeElement)")
    reached = page.evaluate("() => { window.reached.delete(document.body); return reached.size; }")
    assert reached >= wanted
