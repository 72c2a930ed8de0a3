import shutil
from pathlib import Path

import pytest
from commands import prepare


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Path:
    return prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def work(prepared, tmp_path, monkeypatch) -> Path:
    """A folder with a text and a vocabulary, to run commands in."""
    folder = tmp_path / "work"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder
