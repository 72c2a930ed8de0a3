"""What commands write over, and what they never do: each command against each rule."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = sys.executable
VOLT = Path(sys.executable).with_name("volt")
TEXT = "".join(f"the cat{n % 7} sat on mat{n % 5} w{n % 200}\n" for n in range(600))
SMALL = "--sizes 300:420:20 --candidates bpe:100 --no-report -q"
LEARN = f"learn text {SMALL} -o OUT"

FILES = {
    "count": ("count text -o OUT", ["text"]),
    "count in little memory": ("count text --memory 256M -o OUT", ["text"]),
    "candidates": ("candidates text -n 20 -o OUT", ["text"]),
    "candidates of a file": (
        "candidates text --candidates file:tok/tokenizer.json -o OUT",
        ["tok/tokenizer.json"],
    ),
    "curve": ("curve text -n 20 -o OUT", ["text"]),
    "encode": ("encode -m model text -o OUT", ["text", "model/volt.json"]),
    "encode to arrays": ("encode -m model text --as npy -o OUT", ["text", "model/volt.json"]),
    "encode to bin": ("encode -m model text --as bin -o OUT", ["text", "model/volt.json"]),
    "decode": ("decode -m model tokens -o OUT", ["tokens", "model/volt.json"]),
    "decode arrays": ("decode -m model ids.npy --as npy -o OUT", ["ids.npy", "ids.offsets.npy"]),
    "export": ("export -m model/volt.json --to text -o OUT", ["model/volt.json"]),
    "export with a check": ("export -m model --to text --check text -o OUT", ["text"]),
    "report": ("report model -o OUT", ["model/volt.json", "model/choices.json"]),
    "compare": ("compare model tok --on text -o OUT", ["text", "tok/tokenizer.json"]),
    "data clean": ("data clean text other -o OUT OUT.more", ["text", "other"]),
}
"""Commands that write a file, and what they read."""
FOLDERS = {
    "learn": (LEARN, "text"),
    "learn a side each": (f"learn --separate --source text --target other {SMALL} -o OUT", "other"),
    "learn a script each": (f"learn text greek --separate-scripts {SMALL} -o OUT", "greek"),
    "learn languages": (f"learn --lang de=text --lang en=other {SMALL} -o OUT", "other"),
    "learn a ladder": (
        "learn text --ladder 300,320 --candidates bpe:100 --no-report -q -o OUT",
        "text",
    ),
    "import": ("import tok/tokenizer.json -o OUT", "tok/tokenizer.json"),
    "merge": ("merge model model2 -o OUT", "model2"),
    "refit": ("refit tok/tokenizer.json --on text --size 300 -o OUT", "tok/tokenizer.json"),
    "extend": ("extend tok/tokenizer.json --on text --add 2 -o OUT", "text"),
}
"""Commands that write a folder, and something they read."""


def run(command: str, output: object = "", **options) -> subprocess.CompletedProcess[str]:
    words = [word.replace("OUT", str(output)) for word in command.split(" ")]
    options = {"stdin": subprocess.DEVNULL, "timeout": 120, **options}
    return subprocess.run([VOLT, *words], capture_output=True, text=True, **options)


def done(command: str, output: object = "", **options) -> str:
    """Run a command that must succeed; what it says."""
    result = run(command, output, **options)
    assert result.returncode == 0, result.stderr
    return result.stderr


def refused(command: str, output: object, says: str) -> None:
    """Run a command that must be refused; nothing on the disk changes."""
    before = everything()
    result = run(command, output)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert says in result.stderr
    assert "Traceback" not in result.stderr
    assert everything() == before


def everything() -> dict[str, bytes | None]:
    """All that is in the working folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}


def leftovers() -> list[Path]:
    return list(Path().glob(".volt-*"))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "text").write_text(TEXT)
    (folder / "other").write_text(TEXT.replace("cat", "dog"))
    greek = [one + other for one in "αβγδεζηθικ" for other in "λμνξοπρστυ"]
    latin = [one + other for one in "abcdefghij" for other in "klmnopqrst"]
    (folder / "greek").write_text(" ".join([*latin, *greek]) + "\n")
    for command in (
        LEARN.replace("OUT", "model"),
        LEARN.replace("text", "other").replace("OUT", "model2"),
        "export -m model --to hf -o tok -q",
        "encode -m model text -o tokens -q",
        "encode -m model text --as npy -o ids.npy -q",
    ):
        done(command, cwd=folder)
    return folder


@pytest.fixture
def work(prepared, tmp_path, monkeypatch):
    """A folder with texts and vocabularies, to run commands in."""
    shutil.copytree(prepared, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


# ------------------------------------------------------------------------------------------ files


def test_a_comparison_is_not_written_as_what_it_is_not(work):
    refused("compare model tok --on text -o OUT", "c.png", "c.png: a comparison ends in .csv, .tex")
    done("compare model tok --on text -o OUT", "c.csv")
    assert Path("c.csv").read_text().startswith("vocabulary,")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_read_is_never_written(work, name):
    command, inputs = FILES[name]
    for one in inputs:
        refused(f"{command} --force", one, f"{one} is an input")
    (work / "link").symlink_to(inputs[0])
    os.link(inputs[0], "hard")
    refused(f"{command} --force", "link", "link is an input")
    refused(f"{command} --force", "missing/../hard", "hard is an input")


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_exists_needs_force(work, name):
    command, _ = FILES[name]
    Path("out").write_text("years of work")
    refused(command, "out", "out exists; use --force to replace it, or name another file")
    done(f"{command} --force", "out")
    assert Path("out").read_bytes() != b"years of work"


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("bin", ["out", "out.json"]),
        ("npy", ["out", "out.offsets.npy"]),
        ("megatron", ["out.bin", "out.idx"]),
        ("datatrove", ["out.ds", "out.ds.index", "out.ds.metadata"]),
    ],
)
def test_each_file_of_a_token_file_needs_force_and_is_not_an_input(work, form, names):
    command = f"encode -m model text --as {form} -q -o OUT"
    for name in names:
        Path(name).write_text("years of work")
        refused(command, "out", f"{name} exists; use --force to replace it")
        refused(f"encode -m model text {name} --as {form} -q -o OUT --force", "out", "is an input")
        Path(name).unlink()
    done(command, "out")
    for name in names:
        Path(name).write_text("years of work")
    done(f"{command} --force", "out")
    assert not [name for name in names if Path(name).read_bytes() == b"years of work"]


@pytest.mark.parametrize("name", [*FILES, *FOLDERS, "data get"])
def test_a_url_is_refused(work, name):
    """It would be a local folder called `s3:`."""
    commands = {**FILES, **FOLDERS, "data get": ("data get multi30k -o OUT", "")}
    refused(commands[name][0], "s3://bucket/out", "outputs are files of this machine")


def test_a_place_where_no_file_can_be_is_refused_before_the_work(work):
    command = FILES["count"][0].replace(
        "text", "text nothing"
    )  # what is not there is not looked for
    refused(command, "model", "model is a folder; name a file")
    refused(command, "missing/out", "cannot write missing/out: No such file or directory")
    refused(command, "tokens/out", "cannot write tokens/out: Not a directory")


def test_a_second_file_is_claimed_too(work):
    Path("out.offsets.npy").write_text("years of work")
    Path("out.more").write_text("years of work")
    Path("out.vocab").write_text("years of work")
    says = "exists; use --force to replace it, or name another file"
    refused(FILES["encode to arrays"][0], "out.npy", f"out.offsets.npy {says}")
    refused(FILES["data clean"][0], "out", f"out.more {says}")
    refused("export -m model --to sentencepiece -o OUT", "out.model", f"out.vocab {says}")
    refused("data clean text other -o OUT OUT", "out", "out is named for two outputs")


def test_a_figure_is_claimed(work):
    pytest.importorskip("vl_convert")
    Path("out.svg").write_text("years of work")
    refused("plot model -o OUT", "out.svg", "out.svg exists; use --force")
    refused("plot model -o OUT --force", "model/volt.json", "model/volt.json is an input")


def test_the_vocabulary_is_not_replaced_by_its_own_export(work):
    refused("export -m model --to hf -o OUT", "model/volt.json", "model/volt.json is an input")
    refused("export -m model --to hf -o OUT --force", "model/volt.json", "is an input")
    done("export -m model --to hf -o OUT", "model")  # beside it
    refused("export -m model --to hf -o OUT", "model", "model/tokenizer.json exists; use --force")
    done("export -m model --to hf -o OUT --force", "model")


def test_a_file_that_comes_through_stdin_is_an_input(work):
    with Path("text").open() as stream:
        result = subprocess.run(
            [VOLT, "encode", "-m", "model", "-o", "text", "--force"], stdin=stream,
            capture_output=True, text=True,
        )  # fmt: skip
    assert (result.returncode, Path("text").read_text()) == (2, TEXT)
    assert "text is an input" in result.stderr


def test_the_page_of_a_result_is_made_again_but_not_over_another_file(work):
    pytest.importorskip("vl_convert")
    done("report model")
    done("report model")
    done(f"{LEARN} --force", "model")  # the page is one of its files
    Path("model2/report.html").write_text("years of work")
    refused("report model2", "", "model2/report.html exists; use --force")
    done(f"{FOLDERS['learn a side each'][0]}", "sides")
    done("report sides")
    done(f"{FOLDERS['learn a side each'][0]} --force", "sides")


def test_a_file_in_a_folder_that_is_read_is_refused(work):
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(TEXT)
    for name in ("count", "candidates", "curve"):
        command = FILES[name][0].replace("text", "corpus")
        says = f"corpus/{name} is in the input corpus and would be read as text the next time"
        refused(command, f"corpus/{name}", says)
        done(f"{command} --glob *.txt", f"corpus/{name}")
    command = "encode -m model corpus -o OUT"
    refused(command, "corpus/out", "corpus/out is in the input corpus")
    refused("count corpus --memory 256M --spill corpus/tmp -o OUT", "out", "is in the input corp")


def test_devices_are_written_to(work):
    for name in ("/dev/null", "/dev/stdout"):
        assert run("count text -q -o OUT", name).returncode == 0
    assert run("count text -q -o OUT", "/dev/stdout").stdout == run("count text -q").stdout


# ---------------------------------------------------------------------------------------- folders


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_is_or_contains_an_input_is_never_written(work, name):
    command, one = FOLDERS[name]
    Path("all").mkdir()
    shutil.move(one, Path("all") / Path(one).name)
    moved = f"all/{Path(one).name}"
    command = command.replace(one, moved)
    for output in ("all", "missing/../all"):
        refused(f"{command} --force", output, f"{output} contains the input {moved}")
    if Path(moved).is_dir():
        refused(f"{command} --force", moved, f"{moved} is an input")
        Path("link").symlink_to(moved)
        refused(f"{command} --force", "link", "link is an input")
    else:
        refused(f"{command} --force", moved, f"{moved} is an input")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_is_replaced_with_force_if_all_its_files_are_its_own(work, name):
    command, _ = FOLDERS[name]
    done(command, "out")
    made = everything()
    refused(command, "out", "out exists; use --force to replace it, or name another folder")
    done(f"{command} --force", "out")
    assert everything() == made  # the same bytes, and nothing beside them
    Path("out/thesis.tex").write_text("years of work")
    says = "out contains files that volt did not write there (thesis.tex), so it is not replaced"
    refused(command, "out", says)
    refused(f"{command} --force", "out", says)
    Path("out/thesis.tex").unlink()
    done(f"{LEARN} --force", "out")  # a result replaces a result of another command


def test_a_folder_of_other_files_is_named_with_what_is_in_it(work):
    Path("mine").mkdir()
    for number in range(9):
        Path(f"mine/chapter{number}.tex").write_text("years of work")
    Path("mine/volt.json").write_text("{}")
    refused(f"{LEARN} --force", "mine", "(chapter0.tex, chapter1.tex, chapter2.tex and 6 more)")
    refused(f"{LEARN} --force", ".", ". contains the input text")
    refused(f"{LEARN.replace('text', '-')} --force", "..", "the folder you are in, or around it")
    refused(f"{LEARN} --force", "text", "text is an input")
    refused(f"{LEARN} --force", "tokens", "tokens is a file; name a folder")


def test_data_is_not_fetched_into_a_folder_that_exists(work):
    refused("data get multi30k -o OUT", "model", "did not write there")
    refused("data get multi30k -o OUT --force", "model", "did not write there")


def test_spark_does_not_write_over_its_input(work):
    """Refused before Spark is started, or missed."""
    refused("encode --engine spark -m model text -o OUT", "text", "text is an input")
    refused("encode --engine spark -m model text -o OUT", "model", "model contains the input")
    refused("encode --engine spark -m model text -o OUT --force", "out", "--force does not go with")


def test_a_trial_is_gone_on_with_and_other_files_stay(work):
    pytest.importorskip("torch")
    for name in ("few", "more"):
        Path(name).write_text(TEXT[:200])
    texts = "--source few --target more --valid few more --test few more"
    command = f"trial {texts} --vocab bpe:285 --updates 1 --checkpoints 1 -q -o OUT"
    refused(command, "model", "did not write there")
    Path("mine").mkdir()
    Path("mine/results.json").write_text("years of work")
    refused(command, "mine", "mine contains files that volt did not write there (results.json)")
    refused(command.replace("--vocab bpe:285", "--vocab model"), "model", "model is an input")
    search = command.replace("trial --source few --target more", "search few more --by bleu")
    refused(search.replace("--vocab bpe:285", "--sizes 285"), "mine", "did not write there")
    done(command, "trial")
    Path("trial/notes").write_text("mine")
    run_file = next(Path("trial/runs").rglob("run.json"))
    before = run_file.stat()
    done(command, "trial")
    assert (run_file.stat().st_mtime_ns, Path("trial/notes").read_text()) == (
        before.st_mtime_ns,
        "mine",
    )
    refused(f"{LEARN} --force", "trial", "trial contains files that volt did not write there")


# ---------------------------------------------------------------------- results in a folder of text


def test_learning_twice_into_the_corpus_learns_the_same(work):
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(TEXT)
    command = LEARN.replace("text", "corpus").replace(" -q", "")
    assert "note: corpus" not in done(command, "corpus/out")
    first = everything()
    told = done(f"{command} --force", "corpus/out")
    assert everything() == first
    names = "out/choices.json, out/curve.csv, out/signature.txt and 1 more"
    assert told.splitlines()[0] == (
        f"note: corpus: skipped 4 files that volt wrote, not text: {names}"
    )
    for other in (
        "count corpus", "candidates corpus -n 9", "curve corpus -n 9", "encode -m model corpus",
        "search corpus --sizes 290:320:10", "compare model --on corpus",
        "refit tok/tokenizer.json --on corpus --size 300 -o refitted",
    ):  # fmt: skip
        result = run(other)
        assert (result.returncode, result.stderr.count("skipped 4 files")) == (0, 1), other
        quiet = run(f"{other} -q".replace("refitted", "quiet"))
        assert (quiet.returncode, quiet.stderr) == (0, ""), other
    assert run("count corpus -q").stdout == run("count text -q").stdout


# --------------------------------------------------------------------------------- stopped half-way


SWAP = """
import os, signal, sys
from pathlib import Path
from volt.base import drafts
from volt.cli import main

how, moment, number = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
del sys.argv[1:4]
moments = iter(range(100))

def stop():
    if next(moments) == moment:
        os.kill(os.getpid(), number)

def stopping(move):
    def moved(*paths):
        stop()
        result = move(*paths)
        stop()
        return result
    return moved

if how == "moved":
    drafts._exchange = lambda one, other: False
else:
    drafts._exchange = stopping(drafts._exchange)
Path.rename = stopping(Path.rename)
main()
"""


def swapped(how: str, moment: int, number: int, command: str) -> int:
    """Run a command that gets a signal while old and new change places."""
    words = [PYTHON, "-c", SWAP, how, str(moment), str(int(number)), *command.split(" ")]
    return subprocess.run(words, capture_output=True, timeout=120).returncode


@pytest.mark.parametrize(
    ("how", "moment"),
    [("exchanged", 0), ("exchanged", 1), *(("moved", moment) for moment in range(6))],
)
def test_terminated_in_the_swap_one_of_the_two_is_in_place(work, how, moment):
    done(LEARN.replace("text", "other"), "out")
    old = {name: data for name, data in everything().items() if name.startswith("out")}
    done(LEARN, "new")
    new = {"out" + name[3:]: data for name, data in everything().items() if name.startswith("new")}
    for number, code in ((signal.SIGTERM, 143), (signal.SIGKILL, -9)):
        command = f"{LEARN} --force".replace("OUT", "out")
        assert swapped(how, moment, number, command) == code
        found = {name: data for name, data in everything().items() if name.startswith("out")}
        left = leftovers()
        if number == signal.SIGTERM:
            assert found in (old, new)
            # A signal within the clean-up itself: the old folder stays aside.
            assert not left or (how, moment) == ("moved", 4)
        else:
            assert found in (old, new) or (how == "moved" and found == {} and len(left) == 2)
        done(f"{LEARN.replace('text', 'other')} --force", "out")  # cleans up, and is the old one
        found = {name: data for name, data in everything().items() if name.startswith("out")}
        assert found == old
        assert not leftovers()


def test_what_a_killed_run_left_is_cleaned_up_by_the_next(work):
    program = (
        "import os, signal, sys; import volt.proposing.merges as m; from volt.cli import main\n"
        "m.Curve.save = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main()"
    )
    words = LEARN.replace("OUT", "out").split(" ")
    assert subprocess.run([PYTHON, "-c", program, *words]).returncode == -9
    (left,) = leftovers()
    assert any(left.iterdir())
    done(LEARN, "another")  # whose business it is not
    assert left.exists()
    done(LEARN, "out")
    assert not leftovers()


@pytest.mark.parametrize("form", ["hf", "sentencepiece", "subword-nmt", "tiktoken", "gpt2"])
def test_a_failed_export_leaves_nothing(work, form):
    """At the first file, and when the last one takes its name."""
    byte_level = "--pretokenizer byte-level --merge-rule concat" if form == "tiktoken" else ""
    byte_level = "--pretokenizer byte-level" if form == "gpt2" else byte_level
    words = "--pretokenizer whitespace" if form == "subword-nmt" else byte_level
    done(f"{LEARN} {words}".strip(), "vocabulary")
    before = everything()
    command = f"export -m vocabulary --to {form} -o new/deep/out -q"
    result = run(command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99)))
    assert result.returncode == 2 and "File too large" in result.stderr
    assert everything() == before
    program = (
        "import pathlib; from volt.cli import main\n"
        "def fail(*_): raise OSError(5, 'Input/output error')\n"
        "pathlib.Path.replace = fail\n"
        "main()"
    )
    result = subprocess.run(
        [PYTHON, "-c", program, *command.split(" ")], capture_output=True, text=True
    )
    assert result.returncode == 2 and "Input/output error" in result.stderr
    assert everything() == before
    done(command)
    new = [name for name in everything().keys() - before.keys() if Path(name).is_file()]
    assert len(new) == {"hf": 4, "gpt2": 3}.get(form, 2)
