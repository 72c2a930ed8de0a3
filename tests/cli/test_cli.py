"""The command line, run as people run it."""

import contextlib
import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

import volt
from volt.proposing.candidates_file import save_candidates, write_candidates

VOLT = Path(sys.executable).with_name("volt")
TEXT = "the cat sat on the mat\nthe dog sat\n" * 20
MANY = "".join(f"word{n}\n" for n in range(100_000))


def run(*arguments: object, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([VOLT, *map(str, arguments)], capture_output=True, timeout=600, **options)


def written(artifact: volt.WordCounts | volt.Candidates) -> bytes:
    stream = io.BytesIO()
    if isinstance(artifact, volt.WordCounts):
        artifact.write(stream)
    else:
        write_candidates(artifact, stream)
    return stream.getvalue()


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text(TEXT, encoding="utf-8")
    return path


# ------------------------------------------------------------------------------- version and help


def test_version():
    result = run("--version")
    assert (result.returncode, result.stderr) == (0, b"")
    lines = result.stdout.decode().splitlines()
    assert lines[0] == f"volt {volt.__version__}"
    assert f"Unicode {volt._core.unicode_version}" in lines
    shown = dict(line.split(" ", 1) for line in lines)
    assert shown["tokenizers"] == version("tokenizers")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--help"], ["count", "candidates", "curve"]),
        (["count", "-h"], ["FILE...", "--pretokenizer", "--weight", "--on-invalid", "--json"]),
    ],
)
def test_help_is_data_on_stdout(arguments, expected):
    result = run(*arguments)
    assert (result.returncode, result.stderr) == (0, b"")
    for word in ["Usage:", *expected]:
        assert word in result.stdout.decode()


def test_without_a_command_help_is_shown():
    result = run()
    assert b"Usage:" in result.stdout + result.stderr


# ------------------------------------------------------------------------------------------- count


def test_count_writes_counts_on_stdout_and_words_about_them_on_stderr(tmp_path):
    path = tmp_path / "text"
    path.write_text("a▁ b " + "c" * 9 + "\nb\n", encoding="utf-8")
    options = ["--max-word-length", "4", "--min-count", "2"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    result = run("count", path, *options, env=ascii_only)
    assert result.returncode == 0
    assert result.stdout == written(volt.count(path, max_word_length=4, min_count=2))
    assert result.stderr.decode().splitlines() == [
        "2 lines, 2 words, 1 type",
        "1 word longer than 4 characters was cut",
        "1 '\\u2581' in the text left to byte tokens",
        "4 words (66.667%) of rare types were left out",
    ]


def test_count_writes_a_file_and_a_summary_as_json(text, tmp_path):
    result = run("count", text, "-o", "counts.tsv", "--json", "--threads", "2", cwd=tmp_path)
    counts = volt.count(text)
    assert result.returncode == 0
    assert (tmp_path / "counts.tsv").read_bytes() == written(counts)
    summary = json.loads(result.stdout)
    assert summary["pretokenizer"] == "metaspace"
    assert (summary["lines"], summary["words"], summary["types"]) == (40, 180, len(counts))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counts.tsv", "text"]


def test_count_passes_every_option_on(tmp_path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.txt").write_bytes("ﬁn \xa0 x\n".encode() * 3 + b"bad\xff\n")
    (tmp_path / "d" / "b.md").write_bytes(b"not this\n")
    (tmp_path / "list").write_bytes(b"fin\t5\nrare\t1\n")
    options = ["--pretokenizer", "whitespace", "--normalize", "nfkc", "--on-invalid", "skip-line",
               "--max-types", "9", "--glob", "*.txt", "--quiet"]  # fmt: skip
    result = run("count", "d", *options, "--weight", "0.5", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, b"")
    expected = volt.count(
        tmp_path / "d", pretokenizer="whitespace", normalize="nfkc", on_invalid="skip-line",
        max_types=9, glob="*.txt", weights=0.5,
    )  # fmt: skip
    assert expected.to_dict() == {"fin": 3, "x": 3}
    assert expected.unit == 2
    assert result.stdout == written(expected)

    options = ["--pretokenizer", "whitespace", "--input-format", "counts", "-q"]
    result = run("count", "list", "list:2.0", *options, cwd=tmp_path)
    assert result.stdout.split(b"\n")[1:] == [b"fin\t15", b"rare\t3", b""]
    # Warnings are said to those, too, who asked for quiet.
    assert result.stderr == b"warning: list is given 2 times, and its text counts as often\n"


def test_count_reads_stdin_and_merges_shards(text, tmp_path):
    shard = run("count", "-", "-q", input=TEXT.encode())
    assert shard.stdout == written(volt.count(text))
    (tmp_path / "shard.tsv").write_bytes(shard.stdout)
    both = run("count", "shard.tsv", "-", "-q", input=TEXT.encode(), cwd=tmp_path)
    (tmp_path / "copy").write_text(TEXT, encoding="utf-8")
    assert both.stdout == written(volt.count([text, tmp_path / "copy"]))


# ---------------------------------------------------------------------------- candidates and curve


def test_candidates_come_from_text_and_from_counts_alike(text, tmp_path):
    expected = written(volt.candidates(text, merges=7))
    result = run("candidates", text, "-n", "7")
    assert result.returncode == 0
    assert result.stdout == expected
    assert "7 merges" in result.stderr.decode()
    counts = written(volt.count(text))
    piped = run(
        "candidates", "-", "-n", "7", "-o", "out", "--json", "-q", input=counts, cwd=tmp_path
    )
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes() == expected
    summary = json.loads(piped.stdout)
    assert summary["merges"] == summary["asked"] == 7
    assert summary["size"] == 4 + 256 + summary["alphabet"] + 7


def test_curve_is_the_same_from_text_and_from_candidates(text, tmp_path):
    save_candidates(volt.candidates(text), tmp_path / "candidates.tsv")
    from_text = run("curve", text, "-q")
    from_candidates = run("curve", "candidates.tsv", "-o", "curve.csv", cwd=tmp_path)
    from_pipe = run("curve", "/dev/stdin", "-q", input=TEXT.encode())
    assert from_text.returncode == from_candidates.returncode == from_pipe.returncode == 0
    assert from_text.stdout == from_candidates.stdout == from_pipe.stdout
    assert (from_text.stderr, from_pipe.stderr) == (b"", b"")
    assert b"curve.csv" in from_candidates.stderr
    curve = volt.candidates(text).curve
    with (tmp_path / "curve.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["size"]) for row in rows] == curve.size.tolist()
    assert [float(row["entropy"]) for row in rows] == curve.entropy.tolist()
    assert rows[0]["muv_types"] == ""
    table = from_text.stdout.decode().splitlines()
    assert table[0].split()[0] == "size"
    assert len(table) == 3  # the alphabet and the last merge: no round size lies between


def test_curve_shows_the_sizes_asked_for(text):
    curve = volt.candidates(text).curve
    smallest = int(curve.size[0])
    sizes = f"{smallest}:{smallest + 4}:2,1000000"
    result = run("curve", text, "--sizes", sizes, "--json")
    assert result.returncode == 0
    rows = json.loads(result.stdout)
    assert [row["size"] for row in rows] == [smallest, smallest + 2, smallest + 4]
    assert rows[0]["muv_types"] is None
    assert rows[1]["muv_types"] == curve.muv("types")[2]
    assert b"1 sizes outside" in result.stderr


# ----------------------------------------------------------------------------------------- errors

FILES = {
    "text": b"the cat\n",
    "latin1": "ok\nGrüße\n".encode("latin-1"),
    "cut.gz": b"\x1f\x8b\x08\x00\x00\x00",
    "counts": written(volt.count([["a b"]])),
    "broken": written(volt.count([["a b"]])) + b"x\n",
    "candidates": written(volt.candidates([["a a a"]]))[:-2],
    "old": b"old",
    "folder/.hidden": b"",
}
BAD = {
    "count": "FILE",
    "count missing -o out": "no such file: missing",
    "count folder -o out": "no file below folder",
    "count latin1 -o old --force": "latin1, line 2: invalid UTF-8 (byte 0xFC at offset 5)",
    "count text -o old": "old exists; use --force to replace it",
    "count text -o text --force": "text is an input",
    "candidates text -o text --force": "text is an input",
    "curve text -o text --force": "text is an input",
    "encode -m . text -o text --force": "text is an input",
    "count text --creterion muv": "count has no option --creterion",
    "learn text -o out --creterion muv": "no option --creterion; did you mean --criterion?",
    "count text,text -o out": "no such file: text,text; separate files by spaces: text text",
    "lern text": "there is no command 'lern'; did you mean 'learn'?",
    "shrink text": "there is no command 'shrink'; did you mean 'refit'?",
    "compare old --on de=text en=text": "en=text; kinds of text are one list with commas: --on "
    "NAME=FILE,en=text",
    "export old --to hf -o x": "name the vocabulary with -m: volt export -m old ...",
    "decode learned/volt.json": "with -m: volt decode -m learned/volt.json ...",
    "encode text": "encode needs -m DIR",
    "export old -m out --to hf -o x": "export does not take old: see volt export --help",
    "info old other": "info does not take other: see volt info --help",
    "info -m old": "info has no option -m; TOKENIZER goes without an option: volt info out",
    "trial --train text": "; FILE... goes without an option: volt trial ",
    "count folder/../txet -o out": "no such file: folder/../txet; did you mean folder/../text?",
    "count web=text -o out": "web=text: inputs have no names here: write text. Names",
    "count web=text,code=text -o out": "inputs have no names here: write text text",
    "count code=text --mix web=1,cod=2 -o out": "did you mean cod (in the input, or code in --mix",
    "encode -m old text --as nanogpt": "did you mean 'bin'?",
    "export -m old --to hugginface -o out": "did you mean 'hf'?",
    "export -m old --to gguf -o out": "for llama.cpp --to hf, then its convert_hf_to_gguf.py",
    "learn text --pretokenizer llama3 -o out": "did you mean 'byte-level:llama3'?",
    "learn text --pretokenizer byte-level:gpt4 -o out": "did you mean 'byte-level:cl100k'?",
    "learn text --pretokenizer gpt-4o -o out": "did you mean 'byte-level:o200k'?",
    "learn text --pretokenizer gpt2 -o out": "did you mean 'byte-level'?",
    "export -m missing --to HF -o out": "no such vocabulary: missing",
    "export -m missing --to huggingface -o out": "no such vocabulary: missing",
    "export -m missing --to spm -o out": "no such vocabulary: missing",
    "count text latin1 -o out --json": "latin1, line 2",
    "count cut.gz -o out": "cut.gz: the compressed data is damaged",
    "count broken -o out": "broken, line 4: no tab",
    "count counts --pretokenizer whitespace": "counted with pretokenizer=metaspace",
    "count text --pretokenizer bert": "bert",
    "count text --max-word-length 1": "max-word-length",
    "count text --max-word-length 99999999999999999999": "max-word-length",
    "count text --threads 0": "threads",
    "count text --weight 1 --weight 2": "2 weights for 1 inputs",
    "count text --json": "-o",
    "count text --nonsense": "--nonsense",
    "count text -o missing/out": "cannot write missing/out",
    "count text -o folder": "folder is a folder; name a file",
    "count - -": "twice",
    "count candidates -o out": "candidates file",
    "nonsense text": "nonsense",
    "candidates text -n -1": "--merges",
    "candidates text -n 99999999999999999999": "--merges",
    "candidates text --coverage 2 -o out": "coverage",
    "candidates text --json": "-o",
    "curve candidates -o out": "candidates",
    "curve text --sizes 1:2": "'1:2'",
    "curve text --sizes 1000000 -o out": "--sizes names none from ",
    "curve text -o missing/out": "cannot write missing/out",
}  # fmt: skip


def listing(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def bad_results(tmp_path_factory):
    """Every bad command with what came of it, each in a folder of its own; run side by side."""

    def run_in_folder(command: str):
        folder = tmp_path_factory.mktemp("bad")
        (folder / "folder").mkdir()
        for name, data in FILES.items():
            (folder / name).write_bytes(data)
        return run(*command.split(), cwd=folder, input=b""), listing(folder)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(BAD, pool.map(run_in_folder, BAD), strict=True))


@pytest.mark.parametrize("command", BAD)
def test_bad_input_and_bad_usage_exit_2_with_a_message_and_leave_nothing(bad_results, command):
    result, left = bad_results[command]
    message = result.stderr.decode()
    assert result.returncode == 2
    assert BAD[command] in message
    assert "Traceback" not in message
    assert left == FILES
    assert result.stdout == b""


def test_debug_shows_the_traceback_and_exits_2_all_the_same(tmp_path):
    result = run("count", "missing", "--debug", cwd=tmp_path)
    assert result.returncode == 2
    assert b"Traceback" in result.stderr
    assert result.stderr.decode().splitlines()[-1] == "volt: no such file: missing"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["count"], ["curve", "--json"]])
def test_a_full_disk_behind_stdout_is_an_error(text, tmp_path, arguments):
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            [VOLT, *arguments, text], stdout=full, stderr=subprocess.PIPE, cwd=tmp_path
        )
    assert result.returncode == 2
    assert result.stderr.decode() == "volt: cannot write stdout: No space left on device\n"


def test_a_closed_stdout_is_an_error(text):
    result = subprocess.run(
        ["sh", "-c", 'exec "$0" count "$1" >&-', VOLT, text], stderr=subprocess.PIPE
    )
    assert result.returncode == 2
    assert result.stderr.decode() == "volt: cannot write stdout: it is closed\n"


def test_a_reader_that_leaves_early_is_no_error_to_speak_of(tmp_path):
    (tmp_path / "many").write_text(MANY)
    with subprocess.Popen(
        [VOLT, "count", tmp_path / "many"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline().startswith(b"# volt counts ")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE


def test_an_interrupt_ends_without_traceback_or_output(tmp_path):
    """The text goes on until the command ends: a signal that comes right before a read is not seen
    until the read returns."""
    with subprocess.Popen(
        [VOLT, "count", "-", "-o", "out"],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        # A shell's background jobs ignore interrupts, and hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        process.stdin.write(MANY.encode())  # more than a pipe contains, so it is being read by now
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(BrokenPipeError):
            for _ in range(1000):
                process.stdin.write(MANY.encode())
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
        assert process.stdout.read() == b""
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------------------------- progress


def run_on_terminal(*arguments: object) -> tuple[bytes, bytes]:
    """Run with stderr a terminal; returns stdout and what the terminal showed."""
    leader, follower = pty.openpty()
    try:
        with subprocess.Popen(
            [VOLT, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        ) as process:
            os.close(follower)
            shown = b""
            while True:
                try:
                    part = os.read(leader, 1 << 16)
                except OSError:  # the terminal's last user has gone
                    break
                if not part:
                    break
                shown += part
            data = process.stdout.read()  # after the terminal, which fills up before a pipe does
        assert process.returncode == 0
        return data, shown
    finally:
        os.close(leader)


def test_a_terminal_sees_a_bar_and_stdout_only_data(text):
    data, shown = run_on_terminal("candidates", text, "-n", "5")
    assert data == written(volt.candidates(text, merges=5))
    assert b"Counting words" in shown
    assert b"Merging" in shown
    assert b"5 merges" in shown


def test_quiet_is_silent_even_on_a_terminal(text):
    data, shown = run_on_terminal("count", text, "--quiet")
    assert data == written(volt.count(text))
    assert shown == b""
