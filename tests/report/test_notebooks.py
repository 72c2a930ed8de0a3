"""The notebooks of the docs run from an empty folder, and results show themselves in them."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
SHOWN = {"learn": 2, "compare": 3, "ship": 1}
"""How many cells show HTML."""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `test`")
    pytest.importorskip("ipykernel", reason="needs the extra `test`")
    import nbformat

    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    assert all(not cell.get("outputs") for cell in book.cells), "saved without outputs"
    client = nbclient.NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    data = [one.get("data", {}) for cell in book.cells for one in cell.get("outputs", [])]
    shown = [one for one in data if "text/html" in one]
    assert len(shown) == SHOWN[path.stem]
    assert not any("<script" in one["text/html"] for one in shown)
    assert path.stem != "learn" or any("image/svg+xml" in one for one in data)
