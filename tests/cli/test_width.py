"""Summaries fit a terminal of 80 columns, and a command to copy is never cut."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from volt.base.lines import note_lines

VOLT = str(Path(sys.executable).with_name("volt"))
COMMANDS = {
    "learn": "learn sample/train.de sample/train.en -o out2",
    "learn --size": "learn sample/train.de sample/train.en --size 2k -o out3",
    "search": "search sample/train.de sample/train.en",
    "export": "export -m out --to hf -o hf2 --chat chatml",
    "verify": "verify out hf --on sample/valid.de",
    "refit": "refit hf --on sample/train.en -o small",
    "extend": "extend hf --on sample/web.jsonl --add 100 -o large",
    "compare": "compare out hf --on de=sample/valid.de,en=sample/valid.en",
    "info": "info out",
    "info of another toolkit": "info hf",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("width")
    for words in (
        "data get sample -o sample", "learn sample/train.de sample/train.en --reserve 8 -o out",
        "export -m out --to hf -o hf",
    ):  # fmt: skip
        subprocess.run([VOLT, *words.split(), "-q"], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_says_fits_80_columns(folder, name):
    done = run(folder, COMMANDS[name])
    assert done.returncode == 0, done.stderr
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert lines
    assert not [line for line in lines if len(line) > 80]


def run(folder, words):
    return subprocess.run(
        [VOLT, *words.split()], cwd=folder, capture_output=True, text=True, check=False
    )


def test_what_is_exported_with_a_chat_template_is_verified_with_it(folder):
    """Names that the template brings were compared with the vocabulary before it had them."""
    done = run(folder, "export -m out --to hf -o chat --chat chatml")
    equal = re.search(r"verified: ([\d,]+) of ([\d,]+) built-in texts", done.stderr)
    assert equal and equal[1] == equal[2]
    assert "warning" not in done.stderr


def test_verify_says_whether_the_difference_is_in_your_text(folder):
    """Here only the built-in texts contain the names that the template brings."""
    assert run(folder, "export -m out --to hf -o named --chat chatml").returncode == 0
    done = run(folder, "verify hf named --on sample/valid.de")
    assert done.returncode == 1
    assert re.search(r"of your text 0 of \d+ lines?, of the built-in texts \d", done.stdout)
    assert "\nbuilt-in text " in done.stdout


def test_a_text_among_the_vocabularies_is_named(folder):
    done = run(folder, "compare out --on sample/valid.de sample/valid.en")
    assert done.returncode == 2
    assert "this looks like text, not a tokenizer; --on is for text, once per" in done.stderr


def test_a_command_to_copy_stays_whole():
    command = f"next: volt export -m {'long/' * 20} --to hf -o out-hf"
    assert note_lines(command, 80) == [command]


def test_a_note_goes_on_below_its_first_word():
    words = "word " * 30
    first, *others = note_lines(f"note: {words}", 80)
    assert first.startswith("note: word") and len(first) <= 80
    assert others and all(line.startswith("      word") for line in others)
