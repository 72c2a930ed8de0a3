"""The tables of the docs are what the registries say; `make docs-tables` writes them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from registry_docs import DOCS, PAGES, TABLES, written


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_are_current(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert written(page) == page


def test_every_table_has_a_page():
    pages = "".join((DOCS / name).read_text(encoding="utf-8") for name in PAGES)
    for name in TABLES:
        assert f"<!-- table: {name} -->" in pages
