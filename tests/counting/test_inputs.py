"""Where text comes from: files, folders, stdin, pipes, compressed files, iterables."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import pytest
import zstandard

import volt
from volt.base.errors import InputError
from volt.base.output import atomic_folder
from volt.counting.inputs import find_inputs

LINES = "".join(f"line {n} of the text, {n * n}\n" for n in range(3000))
TEXT = LINES.encode()
COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def words(counts: volt.WordCounts) -> list[tuple[str, int]]:
    return list(counts.items())


EXPECTED = words(volt.count([LINES.splitlines()]))


@pytest.fixture
def file(tmp_path):
    """Write bytes or text under a name; returns the path."""

    def write(data: bytes | str, name: str = "text") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


# -------------------------------------------------------------------------------- files and folders


def test_a_path_is_a_string_or_a_path_object_and_several_come_in_a_list_or_tuple(file):
    one, two = file("a b\n", "one"), file("b c\n", "two")
    assert words(volt.count(one)) == words(volt.count(str(one))) == [("▁a", 1), ("▁b", 1)]
    both = [("▁b", 2), ("▁a", 1), ("▁c", 1)]
    assert words(volt.count([one, str(two)])) == words(volt.count((one, two))) == both


def test_a_folder_gives_its_files_sorted_by_path_without_the_hidden_ones(file, tmp_path):
    for name in ["d/b.txt", "d/a.txt", "d/sub/c.txt", "d/Z.txt", "d/.hidden.txt", "d/.git/e.txt",
                 "d/a/x.txt", "d/a-b.txt", "d/read.me"]:  # fmt: skip
        file(name, name)
    folder = tmp_path / "d"
    relative = [str(Path(s.name).relative_to(folder)) for s in find_inputs(folder, glob="*.txt")]
    assert relative == ["Z.txt", "a-b.txt", "a.txt", "a/x.txt", "b.txt", "sub/c.txt"]
    assert len(find_inputs(folder)) == 7
    assert [s.name for s in find_inputs(folder, glob="sub/*")] == [str(folder / "sub" / "c.txt")]


def test_a_hidden_folder_named_by_the_user_is_read(file, tmp_path):
    file("a\n", ".hidden/text")
    assert words(volt.count(tmp_path / ".hidden")) == [("▁a", 1)]


def test_a_folder_with_a_weight_weighs_all_its_files(file, tmp_path):
    file("a\n", "d/one")
    file("a\n", "d/two")
    assert words(volt.count(f"{tmp_path / 'd'}:2")) == [("▁a", 4)]


def test_a_glob_that_matches_nothing_is_an_error(file, tmp_path):
    file("a\n", "d/one.txt")
    with pytest.raises(volt.InputError, match=r"no file below .*d matches '\*\.gz'"):
        volt.count(tmp_path / "d", glob="*.gz")


@pytest.mark.parametrize("glob", ["/etc/*", ""])
def test_a_glob_that_is_none_is_an_error(file, tmp_path, glob):
    file("a\n", "d/one.txt")
    with pytest.raises(volt.VoltError, match=f"'{re.escape(glob)}'"):
        volt.count(tmp_path / "d", glob=glob)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(volt.InputError, match=r"no such file: .*missing"):
        volt.count(tmp_path / "missing")


@pytest.mark.parametrize("length", [1, 50])
def test_text_taken_for_a_path_is_an_error_that_says_how_to_give_text(length):
    with pytest.raises(volt.InputError, match=r"(?s)no such file: this is .*volt\.Texts\("):
        volt.count("this is a sentence, not a path\n" * length)


@pytest.mark.parametrize("inputs", [[], ()])
def test_no_input_is_an_error(inputs):
    with pytest.raises(volt.InputError, match="no input"):
        volt.count(inputs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (7, "input 1 is a int"),
        ([["a"], None], "input 2 is a NoneType"),
        (b"bytes", "text 1, item 1: a int, not a string"),
        ([["a", b"b"]], "text 1, item 2: a bytes, not a string"),
        ([["a"], ["b", None]], "text 2, item 2: a NoneType, not a string"),
    ],
)
def test_what_is_no_text_is_an_error_that_names_it(inputs, message):
    with pytest.raises(volt.InputError, match=message):
        volt.count(inputs)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    unreadable = Path("/proc/self/mem")  # a file that opens, and whose first page cannot be read
    if not unreadable.exists():
        pytest.skip("no /proc")
    with pytest.raises(volt.InputError, match=r"cannot read /proc/self/mem: "):
        volt.count(unreadable)


# -------------------------------------------------------------------------------------- compression


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("name", ["text", "text.txt", "text.gz", "text.xz"])
def test_compression_is_told_by_content_not_by_name(file, kind, name):
    assert words(volt.count(file(COMPRESS[kind](TEXT), name))) == EXPECTED


def test_plain_text_is_plain_whatever_its_name(file):
    assert words(volt.count(file(TEXT, "text.gz"))) == EXPECTED


def test_text_that_starts_like_bzip2_is_text(file):
    assert words(volt.count(file("BZh9 is a magic number\n")))[0] == ("9", 1)


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("first", [0, 3, 40_000])
def test_several_members_or_frames_are_read_as_one_text(file, kind, first):
    compress = COMPRESS[kind]
    data = compress(TEXT[:first]) + compress(TEXT[first:40_001]) + compress(TEXT[40_001:])
    assert words(volt.count(file(data))) == EXPECTED


@pytest.mark.parametrize("kind", COMPRESS)
def test_a_counts_file_may_be_compressed_even_in_several_frames(file, kind):
    stream = io.BytesIO()
    volt.count([LINES.splitlines()]).write(stream)
    data = stream.getvalue()
    compress = COMPRESS[kind]
    path = file(compress(data[:5]) + compress(data[5:]))
    found = volt.count(path)
    assert words(found) == EXPECTED
    assert found.totals.lines == 3000


@pytest.mark.parametrize("kind", COMPRESS)
def test_an_empty_compressed_file_is_an_empty_text(file, kind):
    found = volt.count(file(COMPRESS[kind](b"")))
    assert (len(found), found.totals.lines) == (0, 0)


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_compressed_data_cut_short_is_an_error(file, kind, share):
    data = COMPRESS[kind](TEXT)
    path = file(data[: min(int(len(data) * share), len(data) - 1)])
    with pytest.raises(volt.InputError, match=r"text: the compressed data is damaged or cut short"):
        volt.count(path)


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("place", [0.3, 0.6])
def test_damaged_compressed_data_is_an_error(file, kind, place):
    data = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
                     if kind == "zst" else COMPRESS[kind](TEXT))  # fmt: skip
    position = int(len(data) * place)
    data[position] ^= 0xFF
    with pytest.raises(volt.InputError, match="text"):
        volt.count(file(bytes(data)))


def test_a_counts_file_inside_damaged_data_is_an_error_at_once(file):
    stream = io.BytesIO()
    volt.count([["a"]]).write(stream)
    with pytest.raises(volt.InputError, match="damaged or cut short"):
        volt.count([file(TEXT, "good"), file(gzip.compress(stream.getvalue())[:30], "bad")])


# -------------------------------------------------------------------------------------- other bytes


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_recognized_by_its_mark(file, encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    path = file((mark + "Grüße\n").encode(encoding))
    for on_invalid in ("error", "replace"):
        with pytest.raises(volt.InputError, match=r"text: this is UTF-16; convert it"):
            volt.count(path, on_invalid=on_invalid)


def test_latin_1_is_an_error_that_names_the_byte(file):
    with pytest.raises(volt.InputError, match=r"line 1: invalid UTF-8 \(byte 0xFC at offset 2\)"):
        volt.count(file("Grüße\n".encode("latin-1")))


@pytest.mark.parametrize(
    ("data", "lines"),
    [(b"", 0), (b"\n", 1), (b"a", 1), (b"a\n", 1), (b"a\r\n\r\n", 2), (b"\0\n\0", 2), (b"\r", 1)],
)
def test_lines_are_ended_by_line_feeds_and_the_last_may_lack_its_own(file, data, lines):
    assert volt.count(file(data)).totals.lines == lines


# ---------------------------------------------------------------------------------- stdin and pipes


def run_python(script: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", script], input=data, capture_output=True)


def test_a_dash_is_stdin_also_when_compressed():
    script = "import volt; print(list(volt.count('-').items()))"
    for data in (TEXT, gzip.compress(TEXT), COMPRESS["zst"](TEXT)):
        assert eval(run_python(script, data).stdout) == EXPECTED


def test_stdin_may_stand_among_files_and_have_a_weight(file, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n")))
    assert words(volt.count([file("b\n"), "-:2.5"])) == [("▁a", 5), ("▁b", 2)]


def test_stdin_is_read_once():
    with pytest.raises(volt.InputError, match="twice"):
        volt.count(["-", "-"])


def test_closed_stdin_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(volt.InputError, match="stdin is closed"):
        volt.count("-")


@pytest.fixture
def fifo(tmp_path):
    """A named pipe into which these parts are written, one after the other, by a thread."""
    threads = []

    def make(parts: list[bytes], name: str = "fifo") -> Path:
        path = tmp_path / name
        os.mkfifo(path)

        def write() -> None:
            with open(path, "wb", buffering=0) as stream:  # noqa: PTH123
                for part in parts:
                    stream.write(part)

        threads.append(threading.Thread(target=write))
        threads[-1].start()
        return path

    yield make
    for thread in threads:
        thread.join()


def byte_by_byte(data: bytes, bytes_: int) -> list[bytes]:
    return [*(data[i : i + 1] for i in range(bytes_)), data[bytes_:]]


@pytest.mark.parametrize("compress", [bytes, *COMPRESS.values()])
def test_a_pipe_is_read_once_and_whole(fifo, compress):
    data = compress(TEXT)
    assert words(volt.count(fifo(byte_by_byte(data, 20)))) == EXPECTED


def test_a_counts_file_comes_through_a_pipe_however_slowly(fifo):
    stream = io.BytesIO()
    volt.count([LINES.splitlines()]).write(stream)
    found = volt.count(fifo(byte_by_byte(stream.getvalue(), 30)))
    assert words(found) == EXPECTED
    assert found.totals.lines == 3000


def test_a_byte_order_mark_comes_through_a_pipe_however_slowly(fifo):
    assert words(volt.count(fifo(byte_by_byte("\ufeffa\n".encode(), 4)))) == [("▁a", 1)]


def test_a_pipe_is_closed_when_another_input_fails(fifo, file):
    with pytest.raises(volt.InputError, match="line 1: the counts header"):
        volt.count([fifo([b"a\n"]), file("# volt counts {}\n")])


# ---------------------------------------------------------------------------------------- iterables


def test_a_generator_is_one_text():
    found = volt.count(f"word {n}" for n in range(3))
    assert words(found) == [("▁word", 3), ("▁0", 1), ("▁1", 1), ("▁2", 1)]
    assert found.totals.lines == 3


def test_a_list_inside_a_list_is_text_and_may_stand_beside_paths(file):
    found = volt.count([["a b", "a"], file("a\n"), iter(["b"])], weights=[1, 2, "0.5"])
    assert words(found) == [("▁a", 8), ("▁b", 3)]
    assert found.unit == 2


def test_an_open_file_is_an_iterable_of_lines(file):
    with file("a b\r\nc\n\nd").open(encoding="utf-8", newline="") as stream:
        found = volt.count(stream)
    assert words(found) == [("▁a", 1), ("▁b", 1), ("▁c", 1), ("▁d", 1)]
    assert found.totals.lines == 4


def test_a_string_is_a_line_and_a_line_feed_in_it_ends_one():
    found = volt.count([["a\nb", "", "c\n", "d\r\n"]])
    assert found.totals.lines == 5
    assert words(found) == [("▁a", 1), ("▁b", 1), ("▁c", 1), ("▁d", 1)]


def test_no_strings_are_an_empty_text():
    found = volt.count([[]])
    assert (len(found), found.totals) == (0, volt.CountTotals())


def test_strings_of_many_megabytes_are_read_in_parts():
    produced = []

    def lines():
        for n in range(40):
            produced.append(n)
            yield "word " * 50_000

    found = volt.count(lines())
    assert found.totals.lines == 40
    assert found.to_dict()["▁word"] == 2_000_000


def test_a_lone_surrogate_is_an_error_that_names_it():
    with pytest.raises(volt.InputError, match=r"text 1, item 2: .*U\+DC80"):
        volt.count([["fine", "not \udc80 fine"]])


def test_an_error_of_the_iterable_reaches_the_caller():
    def lines():
        yield "a"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        volt.count(lines())


# ------------------------------------------------------------------------------------------ weights


def test_sources_carry_exact_weights(file):
    path = file("a\n")
    assert [s.weight for s in find_inputs([path, ["x"]], weights=[0.1, "1/3"])] == [
        Fraction(1, 10),
        Fraction(1, 3),
    ]
    assert find_inputs(f"{path}:0.25")[0].weight == Fraction(1, 4)
    assert find_inputs(path)[0].weight == 1


# ------------------------------------------------------------------- results of volt in a folder


def save_vocabulary(folder, **options):
    with atomic_folder(folder, **options) as new:
        (new / "volt.json").write_text("not text")
        (new / "inner").mkdir()
        (new / "inner" / "curve.csv").write_text("not text")


def test_results_in_a_folder_are_skipped_with_a_warning(tmp_path):
    (tmp_path / "text").write_text("a b\n")
    save_vocabulary(tmp_path / "out")
    (tmp_path / "out" / "inner" / "more").write_text("c\n")  # not one of volt's files
    with pytest.warns(volt.VoltWarning) as told:
        counts = volt.count(tmp_path)
    assert counts.to_dict() == {"▁a": 1, "▁b": 1, "▁c": 1}
    (warning,) = told
    assert str(warning.message) == (
        f"{tmp_path}: skipped 2 files that volt wrote, not text: out/inner/curve.csv, out/volt.json"
    )


def test_a_result_without_a_manifest_is_skipped_by_the_names_of_its_files(tmp_path):
    (tmp_path / "early" / "source").mkdir(parents=True)
    for name in ("volt.json", "report.html", "source/volt.json", "thesis.txt"):
        (tmp_path / "early" / name).write_text("a\n")
    with pytest.warns(volt.VoltWarning, match="skipped 3 files that volt wrote"):
        assert [source.name for source in find_inputs(tmp_path)] == [
            str(tmp_path / "early" / "thesis.txt")
        ]


def test_files_of_a_tokenizer_in_a_folder_are_skipped_with_a_warning(tmp_path):
    (tmp_path / "a.json").write_text('[{"text": "a b"}]')
    (tmp_path / "hf").mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "merges.txt", "notes.txt"):
        (tmp_path / "hf" / name).write_text("c\n")
    with pytest.warns(
        volt.VoltWarning, match="skipped 3 files of a tokenizer, not text: hf/merges"
    ):
        assert [Path(one.name).name for one in find_inputs(tmp_path)] == ["a.json", "notes.txt"]
    (tmp_path / "hf" / "tokenizer.json").unlink()  # merges.txt may be anybody's
    assert len(find_inputs(tmp_path)) == 4


@pytest.mark.parametrize("compact", [False, True])
def test_a_tokenizer_that_is_named_is_not_read_as_text(tmp_path, compact):
    """Its JSON would be learned, and nobody would notice."""
    (tmp_path / "out").mkdir()
    vocabulary = volt.learn([["low lower lowest flow blow"] * 30], size=278).vocabulary
    vocabulary.save(tmp_path / "out" / "volt.json")
    volt.export(vocabulary, "hf", tmp_path / "hf.json")
    if compact:
        whole = json.loads((tmp_path / "hf.json").read_text(encoding="utf-8"))
        (tmp_path / "hf.json").write_text(json.dumps(whole), encoding="utf-8")
    for name, what in (("hf.json", "a tokenizer.json"), ("out/volt.json", "a file of volt")):
        path = tmp_path / name
        with pytest.raises(InputError, match=f"{name}: {what}, not text; to read its JSON as text"):
            volt.count(path)
        assert volt.count(path, input_format="text").totals.words > 0
    # Below a folder it may belong to somebody's program.
    (tmp_path / "code").mkdir()
    (tmp_path / "hf.json").rename(tmp_path / "code" / "fixture.json")
    assert len(find_inputs(tmp_path / "code")) == 1
    (tmp_path / "settings.json").write_text('{"version": "1", "name": "text"}')
    assert volt.count(tmp_path / "settings.json").totals.words > 0


def test_a_folder_of_nothing_but_results_is_no_corpus(tmp_path):
    save_vocabulary(tmp_path / "out")
    with (
        pytest.warns(volt.VoltWarning, match="skipped 1 file that volt wrote, not text: volt.json"),
        pytest.raises(InputError, match=r"no other file below .*out matches '\*.json'"),
    ):
        find_inputs(tmp_path / "out", glob="*.json")


def test_a_folder_with_a_vocabulary_alone_has_no_text(tmp_path):
    save_vocabulary(tmp_path / "out")
    with (
        pytest.warns(volt.VoltWarning, match="skipped"),
        pytest.raises(InputError, match="out has no text: all of its files are those of a voc"),
    ):
        find_inputs(tmp_path / "out")


def test_text_that_volt_wrote_is_text(tmp_path):
    save_vocabulary(tmp_path / "data", holds="text")
    assert len(find_inputs(tmp_path / "data")) == 2


def test_a_result_that_is_named_is_read(tmp_path):
    save_vocabulary(tmp_path / "out")
    assert len(find_inputs(tmp_path / "out" / "volt.json")) == 1


@pytest.mark.parametrize("given", ["nofile.txt", ["nofile.txt"], ["some/folder", "x y"]])
def test_what_looks_like_a_path_and_is_missing_names_texts(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(volt.InputError, match=r"no such file: .*volt\.Texts"):
        volt.count(given)


def test_an_open_file_of_records_is_to_be_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n')
    with (
        (tmp_path / "a.jsonl").open(encoding="utf-8") as file,
        pytest.raises(InputError, match=r"is an open file of records; give its name: .*a\.j"),
    ):
        volt.count(file)
    with pytest.raises(volt.VoltError, match=r"of records, give their texts: \[\[one\['text'\]"):
        volt.count([{"text": "a b"}, {"text": "c"}])
