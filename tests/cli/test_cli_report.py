"""`volt report`, `info`, `plot`, `compare`, and what `volt learn` shows on a terminal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import volt

VOLT = Path(sys.executable).with_name("volt")
FAST = ["--sizes", "320:400:40", "--candidates", "bpe:200"]
LINES = [f"the {a}{b} of the {b}{a}" for a in "bdfgkst" for b in ("ale", "ore", "uta", "in")] * 4


def run(folder, *arguments, **options):
    result = subprocess.run(
        [VOLT, *map(str, arguments)], capture_output=True, timeout=600, cwd=folder, **options
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "train.en").write_text("\n".join(LINES) + "\n")
    (folder / "train.de").write_text("\n".join(line.upper() for line in LINES) + "\n")
    assert run(folder, "learn", "train.en", "-o", "out", "-q", *FAST) == (0, "", "")
    assert run(folder, "learn", "train.en", "-o", "bytes", "-q", "--no-report",
               "--pretokenizer", "byte-level", *FAST) == (0, "", "")  # fmt: skip
    return folder


# ------------------------------------------------------------------------------------ report, plot


def test_a_page_can_be_made_again(folder, tmp_path):
    page = (folder / "out" / "report.html").read_bytes()
    code, out, err = run(folder, "report", "out", "-o", tmp_path / "page.html")
    assert (code, out) == (0, "")
    assert "opens in any browser" in err
    assert (tmp_path / "page.html").read_bytes() == page
    (folder / "out" / "report.html").unlink()
    assert run(folder, "report", "out/volt.json", "-q") == (0, "", "")
    assert (folder / "out" / "report.html").read_bytes() == page


def test_no_report_is_no_report(folder):
    names = sorted(path.name for path in (folder / "bytes").glob("[!.]*"))
    assert names == ["choices.json", "curve.csv", "signature.txt", "volt.json"]


def test_both_sides_have_a_page(folder):
    sides = ["--separate", "--source", "train.en", "--target", "train.de"]
    assert run(folder, "learn", *sides, "-o", "sides", "-q", *FAST)[0] == 0
    pages = [folder / "sides" / side / "report.html" for side in ("source", "target")]
    before = [page.read_bytes() for page in pages]
    for page in pages:
        page.unlink()
    code, _, err = run(folder, "report", "sides")
    assert code == 0, err
    assert [page.read_bytes() for page in pages] == before
    code, _, err = run(folder, "report", "sides", "-o", "page.html")
    assert code == 2
    assert "name DIR/source or DIR/target" in err


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_a_figure_of_a_folder(folder, tmp_path, form):
    path = tmp_path / f"curve.{form}"
    code, out, err = run(folder, "plot", "out", "-o", path)
    assert (code, out) == (0, ""), err
    assert path.stat().st_size > 5000


def test_a_figure_needs_no_report_json(folder, tmp_path):
    code, _, err = run(folder, "plot", "bytes", "-o", tmp_path / "curve.svg")
    assert code == 0, err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "missing"], "no such vocabulary: missing"),
        (["plot", "out", "-o", "curve.gif"], "a figure ends in .svg, .png, .pdf"),
        (["plot", "missing", "-o", "curve.svg"], "no such vocabulary: missing"),
        (["info", "gpt2"], "no such file or folder: gpt2; to get files of a model of that name"),
        (["import", "gpt2", "-o", "new"], "no such file or folder: gpt2; to get files"),
        (
            ["refit", "gpt2", "--on", "train.en", "-o", "new"],
            "no such file or folder: gpt2; to get files",
        ),
        (["verify", "gpt2", "out"], "no such file or folder: gpt2; to get files"),
        (
            ["refit", "train.en", "--on", "train.en", "-o", "new"],
            "looks like text, not a tokenizer; --on is for text",
        ),
        (["info", "train.en"], "train.en: this looks like text, not a tokenizer; --on is for text"),
        (
            ["compare", "out", "train.en", "--on", "train.en"],
            "train.en: this looks like text, not a tokenizer; --on is for text",
        ),
        (["compare", "out", "--on", "missing"], "no such file: missing"),
        (["compare", "out", "--on", "train.en", "--on", "missing"], "no such file: missing"),
        (["compare", "out", "--on", "en=train.en,de=missing"], "no such file: missing"),
        (["verify", "out", "out", "--on", "missing"], "no such file: missing"),
        (
            ["export", "-m", "out", "--to", "hf", "-o", "hf", "--check", "missing"],
            "no such file: missing",
        ),
        (["compare", "missing", "--on", "train.en"], "no such file or folder: missing"),
        (["compare", "out"], "--on"),
    ],
)
def test_errors_are_one_message_and_exit_2(folder, arguments, words):
    code, out, err = run(folder, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


# -------------------------------------------------------------------------------------------- info


def test_info_says_what_a_vocabulary_is(folder):
    code, out, err = run(folder, "info", "out", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    vocabulary = volt.load_vocabulary(folder / "out")
    choices = json.loads((folder / "out" / "choices.json").read_text())
    assert facts["size"] == len(vocabulary)
    assert facts["tokens"]["byte"] == 256
    assert facts["scaffolds"] == vocabulary.scaffolds
    assert facts["signature"] == vocabulary.signature
    assert facts["size"] == choices["size"]
    tokens = sum(token.frequency for token in vocabulary.tokens)
    words = sum(len(line.split()) for line in LINES)
    assert facts["tokens_per_word"] == pytest.approx(tokens / words)
    code, out, _ = run(folder, "info", "out")
    printed = dict(
        re.split(r"\s{2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line
    )
    assert printed["size"] == f"{len(vocabulary):,}"
    lines = out.partition("\nsignature\n")[2].splitlines()
    assert "".join(line.strip() for line in lines) == vocabulary.signature


def test_info_of_a_vocabulary_that_was_not_learned_here(folder, tmp_path):
    volt.load_vocabulary(folder / "out").save(tmp_path / "volt.json")
    code, out, _ = run(folder, "info", tmp_path, "--json")
    assert code == 0
    facts = json.loads(out)
    assert facts["criterion"] is facts["tokens_per_word"] is None
    assert facts["size"] == len(volt.load_vocabulary(tmp_path))


def test_info_says_of_a_foreign_tokenizer_what_it_says_of_a_vocabulary_of_volt(folder, tmp_path):
    """How it cuts text, and what its special tokens are for."""
    code, _, err = run(folder, "export", "-m", "out", "--to", "hf", "-o", tmp_path / "hf",
                       "--add-eos")  # fmt: skip
    assert code == 0, err
    own, foreign = (json.loads(run(folder, "info", one, "--json")[1])
                    for one in ("out", tmp_path / "hf"))  # fmt: skip
    same = ("pretokenizer", "normalize", "encoding", "unknown", "special_tokens", "bos", "eos")
    assert {name: foreign[name] for name in same} == {name: own[name] for name in same}
    assert (foreign["eos"], foreign["around_a_text"]) == ("</s>", "TEXT </s>")
    assert foreign["signature"].startswith("volt|from:hf|pre:metaspace")
    code, out, _ = run(folder, "info", tmp_path / "hf", "--on", "train.en")
    assert code == 0
    lines = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    assert lines["kind"] == "a tokenizer.json of Hugging Face"
    assert lines["special tokens"] == "<pad>, <s>, </s>, <unk>"
    assert lines["encoding"] == "merge, as BPE does"
    assert re.fullmatch(r"\d+\.\d%", lines["share unused on this text"])
    assert re.fullmatch(r"\d+ tokens", lines["part of a character"])


# ----------------------------------------------------------------------------------------- compare


def test_compare_prints_a_table_or_data_or_a_page(folder, tmp_path):
    arguments = ["compare", "out", "bytes", "--on", "train.en"]
    code, out, err = run(folder, *arguments, "-o", tmp_path / "page.html")
    assert code == 0, err
    # The answer, and one table of the figures to look at first.
    told, table = out.split("\n\n")
    head, *rows = table.splitlines()
    assert head.split()[:3] == ["vocabulary", "size", "tokens"]
    assert max(map(len, out.splitlines())) <= 80
    assert [row.split()[0] for row in rows] == ["out", "bytes"]
    assert "all figures" not in err
    _, out, err = run(folder, *arguments)
    assert "all figures, and what each means: -o compare.html" in err
    data = json.loads(run(folder, *arguments, "--json")[1])
    assert " ".join(told.split()) == data["headline"]
    assert [one["name"] for one in data["rows"]] == ["out", "bytes"]
    for row, one in zip(rows, data["rows"], strict=True):
        _, size, tokens, per_word, per_token, bits, *_ = row.split()
        assert int(size.replace(",", "")) == one["size"]
        assert int(tokens.replace(",", "")) == one["tokens"]
        assert float(per_word) == pytest.approx(one["tokens_per_word"], abs=5e-4)
        assert float(per_token) == pytest.approx(one["bytes_per_token"], abs=5e-4)
        assert float(bits) == pytest.approx(one["bits_per_byte"], abs=5e-5)
    assert (tmp_path / "page.html").read_bytes().startswith(b"<!doctype html>")


# --------------------------------------------------------------------------------------- terminals


def on_a_terminal(folder, *arguments, **environment):
    """What the command writes when stderr is a terminal of 120 columns, and its stdout."""
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    import fcntl
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    settings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    settings |= {"TERM": "xterm-256color", **environment}
    process = subprocess.Popen(
        [VOLT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=slave, cwd=folder, env=settings
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        shown += part
    out = process.stdout.read()
    process.stdout.close()
    os.close(master)
    assert process.wait(timeout=600) == 0, shown.decode(errors="replace")
    return out.decode(), shown.decode()


def test_a_terminal_gets_bars_with_rate_and_a_summary_with_colours(folder, tmp_path):
    arguments = ["learn", "train.en", "-o", tmp_path / "out", *FAST]
    out, shown = on_a_terminal(folder, *arguments)
    assert out == ""
    for stage in ("Counting words", "Merging", "Quality"):
        assert stage in shown
    assert re.search(r"merges/s", shown)
    assert re.search(r"\d+/\d+", shown)
    assert re.search(r"\d:\d\d:\d\d", shown)
    assert re.search(r"\x1b\[1m[0-9,]+ tokens: the ", shown)
    assert "written to" in shown


def test_no_color_is_respected(folder, tmp_path):
    _, shown = on_a_terminal(
        folder, "learn", "train.en", "-o", tmp_path / "out", *FAST, NO_COLOR="1"
    )
    assert "Merging" in shown
    assert not re.search(r"\x1b\[(3|4|9|10)\d", shown)  # colours; bold and movement may be there


def test_quiet_is_quiet_and_a_pipe_has_no_bars(folder, tmp_path):
    out, shown = on_a_terminal(
        folder, "learn", "train.en", "-o", tmp_path / "out", *FAST, "-q", "--json"
    )
    assert shown == ""
    assert json.loads(out)["criterion"] == "auto"
    _, _, err = run(folder, "learn", "train.en", "-o", tmp_path / "out", "--force", *FAST)
    assert "\x1b" not in err
    assert "Merging" not in err


def test_a_terminal_that_knows_ascii_only(folder, tmp_path):
    environment = os.environ | {"PYTHONIOENCODING": "ascii:backslashreplace"}
    code, _, err = run(folder, "learn", "train.en", "-o", tmp_path / "out", *FAST, env=environment)
    assert code == 0
    assert "@" in err  # the highest bar
    assert "\\u258" not in err
