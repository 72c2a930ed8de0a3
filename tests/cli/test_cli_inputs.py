"""Records, samples and shards through the command line: exit codes, what is said, same bytes."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from volt import InputError
from volt.data.clean import text_lines

VOLT = Path(sys.executable).with_name("volt")
DOCUMENTS = [f"low lower lowest {number}\nnew newer newest" for number in range(300)]


def volt(*arguments, status=0):
    done = subprocess.run(
        [VOLT, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done


@pytest.fixture
def records(tmp_path):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS).encode()
    (tmp_path / "a.jsonl").write_bytes(lines)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "a.txt").write_text("".join(text + "\n" for text in DOCUMENTS))
    return tmp_path


def test_records_and_text_give_the_same_file(records):
    for name in ("a.jsonl", "a.jsonl.gz", "a.txt"):
        volt("count", records / name, "-o", records / f"{name}.counts")
    contents = {
        (records / f"{name}.counts").read_bytes() for name in ("a.jsonl", "a.jsonl.gz", "a.txt")
    }
    assert len(contents) == 1
    memory = records / "memory.counts"
    volt("count", records / "a.jsonl", "--memory", "256M", "-o", memory)
    assert {memory.read_bytes()} == contents


def test_shards_merge_to_the_bytes_of_one_machine(records):
    volt("count", records / "a.jsonl", records / "a.txt", "-o", records / "whole.tsv")
    parts = []
    for part in (1, 2, 3):
        parts.append(records / f"part-{part}.tsv")
        volt(
            "count", records / "a.jsonl", records / "a.txt", "--shard", f"{part}/3", "-o", parts[-1]
        )
    volt("count", "--merge", *parts, "-o", records / "merged.tsv")
    assert (records / "merged.tsv").read_bytes() == (records / "whole.tsv").read_bytes()
    refused = volt("count", "--merge", parts[0], records / "a.txt", status=2)
    assert "a.txt: not a counts file" in refused.stderr


def test_a_sample_says_what_was_kept(records):
    sampled = ("count", records / "a.jsonl", "--sample", "5k", "--json", "-o", records / "s.tsv")
    done = volt(*sampled)
    assert "sample: kept " in done.stderr
    assert 4_500 < json.loads(done.stdout)["sample"]["kept_bytes"] <= 5_000
    mixed = volt(
        "count", f"x={records / 'a.jsonl'}", f"y={records / 'a.txt'}", "--mix", "x=0.5,y=0.5",
        "-o", records / "m.tsv",
    )  # fmt: skip
    assert "mixture: x 50.0% (asked for 50.0%)" in mixed.stderr


def test_learn_with_a_sample_says_whether_more_text_would_help(records):
    done = volt(
        "learn", records / "a.jsonl", "--sample", "8k", "--candidates", "bpe:50", "--no-report",
        "-o", records / "out",
    )  # fmt: skip
    assert re.search(r"sample +(too small|large enough): half of\s+it\s+chose", done.stderr)
    assert "warning: --sample 8000 keeps" not in done.stderr
    found = json.loads((records / "out" / "choices.json").read_text())
    assert found["half"]["size"] > 0
    assert "half of the sample chose " in found["enough_text"]
    small = found["half"]["apart"] > 0.1
    doubts = json.loads(volt("info", records / "out", "--json").stdout)["doubts"]
    assert [one for one in doubts if one.startswith("sample too small")] == doubts[-1:] * small


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": "b', "a.jsonl, record 2: not a complete JSON object"),
        ("a.jsonl", '{"body": "a"}\n', "there are: body; --field names the text"),
        ("a.parquet", "PAR1", "a.parquet: damaged or cut short"),
        ("a.csv", "", "a.csv: the file is empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    done = volt("count", tmp_path / name, "-o", tmp_path / "out.tsv", status=2)
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.tsv").exists()


def test_what_is_skipped_is_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"text": 3}\n{"text": null}\n')
    done = volt("count", tmp_path / "a.jsonl", "--on-invalid", "skip-line")
    assert "left out 1 record that can't be read and 1 null" in done.stderr
    assert volt("count", "nosuch", status=2).stderr.count("no such file: nosuch") == 1


def test_what_cannot_be_read_can_be_left_out_where_texts_are_compared(records):
    """The advice of an error is an option of the command."""
    learn = ["learn", records / "a.txt", "--no-report", "--size", "290", "-o", records / "out"]
    volt(*learn)
    bad = records / "bad.jsonl"
    bad.write_text('{"text": "low lower"}\n{"text": "cut\n')
    (records / "bad.txt").write_bytes(b"low lower\nbad \xff\n")
    out = records / "out"
    for command in ("compare", out, "--on"), ("verify", out, out, "--on"), ("info", out, "--on"):
        refused = volt(*command, bad, status=2)
        assert "leave such records out with --on-invalid skip-line" in refused.stderr
        done = volt(*command, bad, "--on-invalid", "skip-line")
        assert "left out 1 record that can't be read" in done.stderr
        assert "or use --on-invalid replace" in volt(*command, records / "bad.txt", status=2).stderr
        done = volt(*command, records / "bad.txt", "--on-invalid", "skip-line")
        assert "left out 1 line of invalid UTF-8" in done.stderr
        volt(*command, records / "bad.txt", "--on-invalid", "replace")
    refused = volt("info", out, "--on-invalid", "replace", status=2)
    assert "--on-invalid does not go with a vocabulary without --on" in refused.stderr


def test_a_command_that_cannot_leave_records_out_does_not_advise_it(records):
    """Lines of a translation have to stay beside each other."""
    (records / "bad.jsonl").write_text('{"text": "low"}\n{"text": "cut\n')
    with pytest.raises(InputError, match=r"record 2: .*; fix the file$"):
        list(text_lines(records / "bad.jsonl"))


def test_what_was_lost_is_in_the_result_and_said_once(records):
    with (records / "a.jsonl").open("a") as file:
        file.write('{"text": "' + "x" * 70 + '"}\n{"text": 3}\n')
    done = volt("learn", records / "a.jsonl", "--on-invalid", "skip-line", "-o", records / "out")
    said = " ".join(done.stderr.split())
    left, cut = "left out 1 record that can't be read", "1 word longer than 64 characters was cut"
    assert said.count(left) == said.count(cut) == 1
    told = json.loads((records / "out" / "choices.json").read_text())["messages"]
    assert f"{records / 'a.jsonl'}: {left}" in told
    assert cut in told
    done = volt("count", records / "a.jsonl", "--on-invalid", "skip-line", "-o", records / "c.tsv")
    assert done.stderr.count(left) == done.stderr.count(cut) == 1


def test_a_file_that_is_not_text_is_called_so(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20)
    (tmp_path / "a.txt").write_text("low\n")
    for more in ((), ("--normalize", "nfc")):
        refused = volt("count", tmp_path, *more, status=2).stderr
        assert "a.png, line 1: invalid UTF-8 (byte 0x89 at offset 0); the file has NUL" in refused
        assert "--glob '*.txt' reads only some files of a folder" in refused
        assert "--on-invalid" not in refused
    volt("count", tmp_path, "--glob", "*.txt")


def test_a_ladder_says_what_was_counted(records):
    done = volt("learn", records / "a.jsonl", "--sample", "8k", "--ladder", "290,295",
                "--no-report", "-o", records / "out")  # fmt: skip
    assert re.search(r"[0-9]+ lines, [0-9,]+ words, [0-9]+ types", done.stderr)
    assert "sample: kept " in done.stderr


def test_a_sample_of_a_few_words_is_a_warning(records):
    done = volt(
        "learn", records / "a.jsonl", "--sample", "100", "-q", "--no-report",
        "-o", records / "tiny",
    )  # fmt: skip
    assert done.stderr.startswith("warning: --sample 100 keeps ")
    assert "hardly text: it is a number of bytes" in " ".join(done.stderr.split())


def test_documents_that_are_cut_at_line_ends_are_told(records):
    """Nobody asked for it, and a language model reads whole documents."""
    say = "documents are cut at line ends; for a language model: --pretokenizer byte-level:llama3"
    learn = ["learn", records / "a.jsonl", "--no-report", "-o", records / "cut", "--force"]
    assert say in " ".join(volt(*learn).stderr.split())
    assert f"`{say}`" not in volt(*learn).stderr
    for option in ("--pretokenizer", "metaspace"), ("--pretokenizer", "byte-level"):
        assert "cut at line ends" not in volt(*learn, *option).stderr
    text = volt("learn", records / "a.txt", "--no-report", "-o", records / "cut", "--force")
    assert "cut at line ends" not in text.stderr
