"""docs/reliability.md: every row names a test, and every test it names is there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reliability.md"


def test_every_row_is_a_test():
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| (?!fault|what)", line)]
    assert len(rows) > 15
    known = {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)
    }
    for row in rows:
        named = re.findall(r"`(test_\w+)`", row)
        assert named or re.search(r"`tests/[\w/]+\.py`", row), row
        assert set(named) <= known, row
