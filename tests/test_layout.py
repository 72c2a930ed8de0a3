"""What keeps the source readable."""

from pathlib import Path

import pytest

import volt

SOURCE = Path(volt.__file__).parents[1]
MOST_LINES = 600


@pytest.mark.parametrize("folder", ["volt", "core"])
def test_no_file_is_too_long_to_be_read(folder):
    files = [
        path for path in (SOURCE / folder).rglob("*") if path.suffix in (".py", ".cpp", ".hpp")
    ]
    assert len(files) > 50
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert not {name: number for name, number in lines.items() if number > MOST_LINES}
