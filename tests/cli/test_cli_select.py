"""--select transport on the command line."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

VOLT = Path(sys.executable).with_name("volt")
TEXT = "the cat sits at the window and looks at the rain\nthe rain stops, the cat still sits\n"
SENTENCE = (
    r"uses [\d,]+ tokens on the training text; no vocabulary of this size made of these "
    r"candidates can use fewer than [\d,]+"
)


def run(folder, *arguments):
    return subprocess.run(
        [VOLT, *arguments], capture_output=True, encoding="utf-8", timeout=600, cwd=folder
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "text").write_text(TEXT * 3)
    return tmp_path


def test_the_certificate_is_said_everywhere(folder):
    learned = run(folder, "learn", "text", "-o", "out", "--select", "transport", "--size", "300")
    assert learned.returncode == 0, learned.stderr
    assert re.search(SENTENCE, " ".join(learned.stderr.split()))
    choices = json.loads((folder / "out" / "choices.json").read_text())
    assert choices["bound"]["least"] <= choices["bound"]["tokens"]
    assert choices["selection"]["mu"]["sizes"]
    info = run(folder, "info", "out")
    assert re.search(SENTENCE, " ".join(info.stdout.split()))
    assert "bound" in json.loads(run(folder, "info", "out", "--json").stdout)
    encoded = run(folder, "encode", "-m", "out", "text", "--as", "ids")
    assert encoded.returncode == 0, encoded.stderr
    assert len(encoded.stdout.split()) == choices["bound"]["tokens"]
    page = folder / "out" / "report.html"
    if page.exists():  # with the extra `report`
        assert "no vocabulary of this size" in page.read_text(encoding="utf-8")


def test_what_is_refused(folder):
    both = run(folder, "learn", "text", "-o", "out", "--select", "transport", "--ladder", "290,300")
    assert both.returncode == 2
    assert "--ladder" in both.stderr
    assert "--select" in both.stderr
    assert not (folder / "out").exists()
    arguments = ["learn", "text", "-o", "out", "--select", "transport", "--size", "300", "-q"]
    assert run(folder, *arguments, "--no-report").returncode == 0
    for form in ("tiktoken", "subword-nmt"):
        refused = run(folder, "export", "-m", "out", "--to", form, "-o", "other")
        assert refused.returncode == 2
        assert "--select merges" in refused.stderr
        assert not (folder / "other").exists()


def test_auto(folder):
    learned = run(folder, "learn", "text", "-o", "out", "--select", "transport", "--no-report")
    assert learned.returncode == 0, learned.stderr
    assert re.search(r"^\d+ tokens: the ", learned.stderr, re.M)
