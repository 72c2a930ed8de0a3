"""`volt trial` and `volt search --by bleu` on the command line, without the training."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

import volt.trial
from volt.base.errors import SettingsError
from volt.cli.app import app
from volt.cli.console import Bars
from volt.cli.trial import tell_trial
from volt.settings import TrialSettings

TRAINING = {
    "task": "translation", "model": "conv", "preset": "small", "seeds": 2, "minutes": 1.5,
    "epochs": 2.5, "updates": 7, "patience": 3, "schedule": "inverse-sqrt", "learning_rate": 0.5,
    "warmup": 4, "batch": 50, "batch_unit": "characters", "accumulate": 6, "precision": "bfloat16",
    "dropout": 0.25,
    "label_smoothing": 0.125, "checkpoints": 8, "average": 9, "max_tokens": 10, "beam": 11,
    "bleu_tokenize": "zh", "device": "cpu",
}  # fmt: skip


def inside(*given):
    """The command in this process, errors as they are."""
    app(args=list(given), prog_name="volt", standalone_mode=False)


class Results:
    """As of a trial of two sizes."""

    signatures = MappingProxyType({"BLEU": "nrefs:1"})
    messages = ("one",)
    vocabularies = ("bpe:275", "bpe:280")
    measure = SimpleNamespace(worst=lambda row: -row["bleu"])

    def rows(self):
        return [
            {"vocabulary": "bpe:275", "size": 275, "bleu": 12.5, "bleu_95": 1.0, "seconds": 30.0},
            {"vocabulary": "bpe:280", "size": 280, "bleu": 10.0, "bleu_95": 1.0, "seconds": 30.0},
        ]

    def plain(self):
        return {"vocabularies": self.rows()}

    def table(self, winner=None):
        return "head\none\nother"

    def answer(self):
        return "best: bpe:275"

    def no_verdict(self, measure):
        return ""


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("the cat sat on the mat\nthe dog sat\n" * 20, encoding="utf-8")
    return "text"


@pytest.fixture
def asked(monkeypatch):
    """What the library is asked for, in place of training; it answers with results."""
    given = {}

    def trial(source, target, **options):
        given.update(options, source=source, target=target)
        Path(options["output"]).mkdir()
        return Results()

    monkeypatch.setitem(vars(volt.trial), "trial", trial)
    pytest.importorskip("torch", reason="needs torch: make large")
    monkeypatch.setattr("volt.trial.search.trial", trial)
    return given


def calls(text):
    pairs = ["--valid", text, text, "--test", text, text, "-o", "out"]
    return {
        "trial": [
            "trial",
            "--source",
            text,
            "--target",
            text,
            "--vocab",
            "bpe:275",
            "--vocab",
            "bpe:280",
            *pairs,
        ],
        "search": ["search", text, text, "--by", "bleu", "--sizes", "275,280", *pairs],
    }


@pytest.mark.parametrize("command", ["trial", "search"])
def test_every_option_of_training_arrives(text, asked, command):
    assert TRAINING.keys() == {field.name for field in fields(TrialSettings)}
    written = [(f"--{name.replace('_', '-')}", str(value)) for name, value in TRAINING.items()]
    inside(*calls(text)[command], *(word for pair in written for word in pair), "--threads", "1")
    wanted = {**TRAINING, "threads": 1}
    assert {name: asked[name] for name in wanted} == wanted


@pytest.mark.parametrize("command", ["trial", "search"])
def test_how_records_are_read_arrives(text, asked, command):
    said = ["--field", "note", "--input-format", "jsonl", "--glob", "*.jsonl"]
    if command == "search":
        record = json.dumps({"note": "the cat sat on the mat"}) + "\n"
        Path(text).write_text(record * 40, encoding="utf-8")
    inside(*calls(text)[command], *said)
    assert (list(asked["field"]), asked["input_format"], asked["glob"]) == (
        ["note"], "jsonl", "*.jsonl",
    )  # fmt: skip


@pytest.mark.parametrize("option", [
    ["--pretokenizer", "whitespace"], ["--normalize", "nfc"], ["--coverage", "0.9"],
    ["--min-frequency", "2"], ["--weight", "2"], ["--length", "types"], ["--for-model", "gpt2"],
])  # fmt: skip
def test_bleu_refuses_options_of_the_other_criteria(text, asked, option):
    with pytest.raises(SettingsError, match=f"^{option[0]} does not go with --by bleu: leave"):
        inside(*calls(text)["search"], *option)
    assert not asked


@pytest.mark.parametrize("option", [
    ["--valid", "a", "b"], ["--test", "a", "b"], ["--output", "out"], ["--model", "conv"],
    ["--heldout", "x"],
    ["--preset", "tiny"], ["--seeds", "1"], ["--updates", "3"], ["--bleu-tokenize", "zh"],
    ["--device", "cpu"],
])  # fmt: skip
def test_other_criteria_refuse_options_of_training(text, option):
    with pytest.raises(
        SettingsError, match=f"^{option[0]} does not go with --by knee, only with --by loss or bleu"
    ):
        inside("search", text, "--by", "knee", "--sizes", "275,280", *option)


@pytest.mark.parametrize("option", [
    ["--patience", "-1"], ["--warmup", "-1"], ["--minutes", "inf"], ["--epochs", "inf"],
    ["--epochs", "nan"], ["--device", "meta"],
])  # fmt: skip
@pytest.mark.parametrize("command", ["trial", "search"])
def test_numbers_and_devices_that_can_not_be_are_refused_before_training(text, command, option):
    pytest.importorskip("torch", reason="needs torch: make large")
    with pytest.raises(SettingsError, match=option[0].removeprefix("--")):
        inside(*calls(text)[command], *option)
    assert not Path("out").exists()


def test_results_of_a_search_hold_the_winner_and_the_cost(text, asked, capsys):
    inside(*calls(text)["search"], "--json")
    stored = json.loads(Path("out/results.json").read_text(encoding="utf-8"))
    said = capsys.readouterr()
    assert stored == json.loads(said.out)
    assert "bleu: 275 (BLEU 12.50)" in said.err
    assert (stored["winner"], stored["seconds"]) == (275, 60.0)
    assert stored["vocabularies"] == Results().rows()


def test_only_what_is_there_is_said_to_be_written(tmp_path, capsys):
    (tmp_path / "results.json").touch()
    (tmp_path / "runs").mkdir()
    tell_trial(Results(), tmp_path, quiet=False)
    said = " ".join(capsys.readouterr().err.split())  # a long path wraps
    assert said.endswith(f"written to {tmp_path}: results.json, runs/")
    (tmp_path / "report.html").touch()
    tell_trial(Results(), tmp_path, quiet=False)
    assert ": results.json, report.html, runs/ " in " ".join(capsys.readouterr().err.split())


# -------------------------------------------------------------------------------------------- bars


def drawn(monkeypatch, capsys, name, unit, note=""):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")
    with Bars().stage(name, 60, unit) as report:
        report(12, note=note)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)


def test_names_in_a_bar_are_no_markup(monkeypatch, capsys):
    shown = drawn(monkeypatch, capsys, "voc[/old] [bold]", "updates", "loss [red]1.5[/x]")
    assert "voc[/old] [bold]" in shown
    assert "loss [red]1.5[/x]" in shown


def test_seconds_have_no_rate(monkeypatch, capsys):
    assert "updates/s" in drawn(monkeypatch, capsys, "char, seed 0", "updates")
    shown = drawn(monkeypatch, capsys, "char, seed 0", "s")
    assert "s/s" not in shown
    assert "12/12 s " in shown


# ------------------------------------------------------------------------------------------ memory


def fails_with(statement):
    """`volt` when its command ends in this way."""
    code = (
        "import sys, volt.cli, volt.cli.app\n"
        "def app(**given):\n"
        f"    {statement}\n"
        "volt.cli.app.app = app\n"
        "sys.argv[1:] = ['trial']\n"
        "volt.cli.main()\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("statement", [
    "import torch; torch.empty(1 << 60, dtype=torch.uint8)",
    "import torch; raise torch.OutOfMemoryError('Tried to allocate 20.00 MiB')",
    "raise RuntimeError('MPS backend out of memory (MPS allocated: 9 GB)')",
])  # fmt: skip
def test_a_model_too_large_for_the_memory_is_told_in_words(statement):
    if "torch" in statement:
        pytest.importorskip("torch", reason="needs torch: make large")
    done = fails_with(statement)
    assert done.returncode == 2
    assert done.stderr.startswith("volt: out of memory; train with a lower --batch")
    assert "Traceback" not in done.stderr


def test_other_errors_of_a_program_are_one_line():
    done = fails_with("raise RuntimeError('shapes do not match')")
    assert done.returncode == 2
    assert done.stderr.startswith("volt: this is a defect of volt (RuntimeError: shapes do not")
    assert "Traceback" not in done.stderr
    assert "out of memory" not in done.stderr


def test_parts_are_numbered_and_have_no_rate(monkeypatch, capsys):
    shown = drawn(monkeypatch, capsys, "Quality", "part")
    assert "part 13 of 60" in shown
    assert "/s" not in shown


def test_a_bar_fits_into_80_columns_and_does_not_step_back(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with Bars().stage("Choosing documents", 999_900_000, "B") as report:
        report(998_800_000)
        report(997_700_000)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().err)
    assert re.search(r"998\.8/\d+\.\d MB", shown)
    assert "997.7" not in shown
