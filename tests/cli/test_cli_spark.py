"""--engine spark, up to where Spark itself would start."""

import subprocess
import sys
from pathlib import Path

import pytest

VOLT = Path(sys.executable).with_name("volt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("count x --engine spark --threads 2", "--threads does not go with --engine spark"),
        ("count x --engine spark --max-types 9", "--max-types does not go with --engine spark"),
        ("count x --engine spark --input-format counts", "add up counts files without"),
        ("count x --master local", "--master does not go with --engine local"),
        ("encode -m x --column ids", "--column does not go with --engine local"),
        ("encode -m x y -o z --engine spark --dropout 0.1", "--dropout does not go with"),
        ("encode -m x --engine spark -o z", "name inputs, and a folder with -o"),
    ],
)
def test_options_that_go_with_another_engine_are_refused(arguments, message):
    done = subprocess.run([VOLT, *arguments.split()], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
