"""Lines for people, wrapped."""

import pytest

from volt.base.lines import note_lines


@pytest.mark.parametrize("name", ["cost", "published", "held out"])
def test_a_row_goes_on_below_its_sentence(name: str) -> None:
    first, *others = note_lines(f"  {name:<9} {'a sentence that is long ' * 5}", 60)
    assert first.startswith(f"  {name:<9} a ") and others
    assert all(line.startswith(" " * 12) and line[12] != " " for line in others)
