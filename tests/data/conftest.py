import pytest


@pytest.fixture(autouse=True)
def slept(monkeypatch):
    """The pauses between tries, which are not made."""
    pauses = []
    monkeypatch.setattr("volt.data.download.sleep", pauses.append)
    return pauses
