"""volt encode and volt decode, run as people run them."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt.cli.decode import DecodeCommand, FileDecoder
from volt.tokenizing.build import build_vocabulary

VOLT = Path(sys.executable).with_name("volt")
LINES = ["the low lower lowest newest", "the newer the lower: é ß 日本", "wide  spaces, 1984"] * 4
TEXT = (
    "the lowest\n\n two  spaces \nno such 😀 letter\r\n▁ and \0\n"
    "\u00a0\u2028\u0085\x0b\x1c\ttabs\n\\u{20} \\ <s>\nthe end"
)


def run(*arguments: object, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([VOLT, *map(str, arguments)], capture_output=True, timeout=600, **options)


def model(path, pretokenizer="metaspace", **options) -> Path:
    found = volt.candidates([LINES], pretokenizer=pretokenizer, merges=60)
    path.mkdir()
    build_vocabulary(found, range(len(found)), **options).save(path / "volt.json")
    return path


@pytest.fixture(scope="module")
def metaspace(tmp_path_factory):
    return model(tmp_path_factory.mktemp("models") / "metaspace")


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    return model(tmp_path_factory.mktemp("models") / "byte-level", "byte-level")


@pytest.fixture(scope="module")
def whitespace(tmp_path_factory):
    return model(tmp_path_factory.mktemp("models") / "whitespace", "whitespace")


@pytest.mark.parametrize("form", ["tokens", "ids"])
@pytest.mark.parametrize("mode", ["metaspace", "byte_level"])
def test_text_goes_through_pipes_and_comes_back(request, mode, form):
    folder = request.getfixturevalue(mode)
    encoded = run("encode", "-m", folder, "--as", form, "--unit", "line", input=TEXT.encode())
    assert (encoded.returncode, encoded.stderr) == (0, b"")
    lines = encoded.stdout.decode().split("\n")
    assert len(lines) == len(TEXT.split("\n"))
    tok = volt.load(folder)
    if form == "ids":
        assert [[int(i) for i in line.split()] for line in lines] == tok.encode_batch(
            TEXT.split("\n")
        )
    else:
        assert lines[0].split(" ") == [tok.tokens[i] for i in tok.encode("the lowest")]
        assert all(line.split() == line.split(" ") for line in lines if line)
    decoded = run("decode", "-m", folder / "volt.json", "--as", form, "--unit", "line",
                  input=encoded.stdout)  # fmt: skip
    assert (decoded.returncode, decoded.stderr) == (0, b"")
    assert decoded.stdout == TEXT.encode()


def test_a_document_is_one_line_of_ids_and_comes_back(byte_level, tmp_path):
    encoded = run("encode", "-m", byte_level, "--as", "ids", input=TEXT.encode())
    assert [*map(int, encoded.stdout.split())] == volt.load(byte_level).encode(TEXT)
    assert encoded.stdout.count(b"\n") == 1
    decoded = run("decode", "-m", byte_level, "--as", "ids", input=encoded.stdout)
    assert decoded.stdout == TEXT.encode()
    texts = [TEXT.encode() + end for end in (b"", b"\n", b"\n\n")]
    files = [tmp_path / str(number) for number in range(3)]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    encoded = run("encode", "-m", byte_level, *files)
    assert encoded.stdout.count(b"\n") == 3
    decoded = run("decode", "-m", byte_level, input=encoded.stdout)
    assert decoded.stdout == b"".join(texts)


def test_numpy_files(metaspace, tmp_path):
    (tmp_path / "text").write_bytes(TEXT.encode())
    ids_file = tmp_path / "ids.npy"
    result = run("encode", "-m", metaspace, tmp_path / "text", "--as", "npy", "-o", ids_file)
    assert (result.returncode, result.stdout) == (0, b"")
    ids, offsets = np.load(ids_file), np.load(tmp_path / "ids.offsets.npy")
    expected = volt.load(metaspace).encode_file(tmp_path / "text")
    for found, right in zip((ids, offsets), expected, strict=True):
        assert found.dtype == right.dtype
        assert found.tolist() == right.tolist()
    decoded = run("decode", "-m", metaspace, "--as", "npy", ids_file)
    assert decoded.stdout == TEXT.encode() + b"\n"
    assert {path.name for path in tmp_path.iterdir()} == {"text", "ids.npy", "ids.offsets.npy"}


def test_whitespace_joins_words_with_single_spaces(whitespace):
    encoded = run("encode", "-m", whitespace, input=b" the  low\tlower \n\nlower\xc3\xb8\n")
    assert encoded.stdout.count(b"\n") == 3
    decoded = run("decode", "-m", whitespace, input=encoded.stdout)
    assert decoded.stdout.decode() == "the low lower\n\nlower<unk>\n"
    assert decoded.stderr == (
        b"1 unknown characters were lost, the first in line 3; they are <unk> in the text\n"
    )
    assert run("decode", "-q", "-m", whitespace, input=encoded.stdout).stderr == b""


def test_the_notation_of_subword_nmt_and_back(whitespace, metaspace, tmp_path):
    from subword_nmt import apply_bpe

    text = "the lowe newe lower\nlower the\n"
    encoded = run("encode", "-m", whitespace, "--as", "subword-nmt", input=text.encode())
    assert (encoded.returncode, encoded.stderr) == (0, b"")
    codes = tmp_path / "dict.codes"
    exported = run("export", "-m", whitespace, "--to", "fairseq", "-o", tmp_path / "dict.txt")
    assert f"volt encode -m {whitespace} --as subword-nmt".encode() in exported.stderr
    with codes.open(encoding="utf-8") as stream:
        assert encoded.stdout.decode() == "".join(
            apply_bpe.BPE(stream).process_line(line + "\n") for line in text.splitlines()
        )
    listed = {line.split(" ")[0] for line in (tmp_path / "dict.txt").read_text().splitlines()}
    assert {*encoded.stdout.decode().split()} <= listed
    back = run("decode", "-m", whitespace, "--as", "subword-nmt", input=encoded.stdout)
    assert back.stdout.decode() == text
    wrong = run("decode", "-m", whitespace, input=encoded.stdout)
    assert wrong.returncode == 2 and b"--as subword-nmt" in wrong.stderr
    other = run("encode", "-m", metaspace, "--as", "subword-nmt", input=b"low")
    assert other.returncode == 2 and b"learned with --pretokenizer whitespace" in other.stderr


def test_the_notation_of_subword_nmt_has_raw_characters(tmp_path):
    """apply-bpe cuts at U+0020 only, and fairseq's dictionary has the same tokens."""
    from subword_nmt import apply_bpe

    lines = ["“\u00a0— low \u3000lower", "new\u2028low \x0clow", r"\u{A0} low\u{41}", "low new"]
    text = "".join(line + "\n" for line in lines * 5)
    volt.learn([[*text.split("\n")]], pretokenizer="whitespace").save(tmp_path / "m", report=False)
    encoded = run("encode", "-m", tmp_path / "m", "--as", "subword-nmt", input=text.encode())
    volt.export(volt.load(tmp_path / "m").vocabulary, "fairseq", tmp_path / "dict.txt")
    with (tmp_path / "dict.codes").open(encoding="utf-8") as stream:
        their = apply_bpe.BPE(stream)
    assert encoded.stdout.decode() == "".join(
        their.process_line(line + "\n") for line in text.split("\n")[:-1]
    )
    listed = {line.rpartition(" ")[0] for line in
              (tmp_path / "dict.txt").read_text(encoding="utf-8").split("\n")}  # fmt: skip
    assert {*encoded.stdout.decode().replace("\n", " ").split(" ")} - {""} <= listed
    back = run("decode", "-m", tmp_path / "m", "--as", "subword-nmt", input=encoded.stdout)
    assert back.stdout.decode() == text


def test_line_ends_of_windows_are_told(metaspace, tmp_path):
    (tmp_path / "crlf").write_bytes(b"low\r\nlower\r\n")
    told = run("encode", "-m", metaspace, tmp_path / "crlf")
    assert told.stdout.count(b"<0x0D>") == 2
    assert b"crlf: lines end in CR LF, and the CR is encoded, too" in told.stderr
    (tmp_path / "mixed").write_bytes(b"low\r\nlower\n")
    assert run("encode", "-m", metaspace, tmp_path / "mixed").stderr == b""


@pytest.mark.parametrize("name", ["encode", "decode"])
def test_a_vocabulary_without_its_option_is_recognized(metaspace, tmp_path, name):
    told = run(name, metaspace, tmp_path / "text")
    assert told.returncode == 2
    assert f"name the vocabulary with -m: volt {name} -m {metaspace} ...".encode() in told.stderr


def test_a_byte_order_mark_is_told(metaspace, tmp_path):
    """Learning drops it without a word."""
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbflow\nlower\n")
    told = run("encode", "-m", metaspace, tmp_path / "bom")
    assert b"<0xEF> <0xBB> <0xBF>" in told.stdout
    assert b"bom starts with a BOM, which is encoded, too" in b" ".join(told.stderr.split())
    assert run("decode", "-m", metaspace, input=told.stdout).stdout.startswith(b"\xef\xbb\xbflow")


def test_records_that_are_damaged_can_be_left_out_and_lines_can_not(metaspace, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n{"text": \n')
    (tmp_path / "b.jsonl").write_text("")
    (tmp_path / "c.txt").write_text("low\n")
    skip = ["--on-invalid", "skip-line"]
    stopped = run("encode", "-m", metaspace, tmp_path / "b.jsonl")
    assert (
        stopped.returncode == 2 and b"go on without it by --on-invalid skip-line" in stopped.stderr
    )
    found = run("encode", "-m", metaspace, tmp_path / "a.jsonl", tmp_path / "b.jsonl", *skip)
    assert found.stdout == run("encode", "-m", metaspace, input=b"low\n").stdout
    assert found.stderr.count(b"left out 1 record") == 2
    refused = run("encode", "-m", metaspace, tmp_path / "c.txt", *skip)
    assert refused.returncode == 2 and b"every line of text is encoded" in refused.stderr


def test_files_that_become_one_are_told(metaspace, tmp_path):
    (tmp_path / "a").write_text("low\n")
    (tmp_path / "b").write_text("lower\n")
    files = [tmp_path / "a", tmp_path / "b"]
    done = run("encode", "-m", metaspace, *files, "-o", tmp_path / "both")
    told = " ".join(done.stderr.decode().split())
    assert told == f"wrote {tmp_path / 'both'}: 2 lines of 2 files, one after the other"
    one = ["encode", "-m", metaspace, files[0], "-o", tmp_path / "one"]
    assert run(*one).stderr.decode().split() == f"wrote {tmp_path / 'one'}: 1 line".split()
    assert run(*one, "--force", "--quiet").stderr == b""


def test_documents_that_run_on_are_counted(byte_level):
    ids = run("encode", "-m", byte_level, "--as", "ids", "--unit", "line", input=b"low\nlower\n")
    joined = run("decode", "-m", byte_level, "--as", "ids", "--unit", "document", input=ids.stdout)
    assert joined.stdout == b"lowlower"
    assert b"note: 1 document did not end in a line end, so the next" in joined.stderr
    apart = run("decode", "-m", byte_level, "--as", "ids", "--unit", "line", input=ids.stdout)
    assert (apart.stdout, apart.stderr) == (b"low\nlower\n", b"")


def test_files_are_encoded_in_order_and_lines_stay_lines(metaspace, tmp_path):
    (tmp_path / "a").write_bytes(b"the low")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"lower\n"))
    out = tmp_path / "out"
    result = run("encode", "-m", metaspace, tmp_path / "a", tmp_path / "b.gz", "-o", out)
    assert result.returncode == 0
    assert len(out.read_text().splitlines()) == 2
    (tmp_path / "c").write_bytes(out.read_bytes().removesuffix(b"\n"))
    decoded = run("decode", "-m", metaspace, out, tmp_path / "c", "-")
    assert decoded.stdout == b"the low\nlower\nthe low\nlower"


def test_threads_change_nothing(metaspace, tmp_path):
    (tmp_path / "text").write_text("".join(f"the low number {n}\n" for n in range(30_000)))
    results = {
        run("encode", "-m", metaspace, tmp_path / "text", "--threads", threads).stdout
        for threads in (1, 2, 5)
    }
    assert len(results) == 1


def test_special_tokens_have_to_be_allowed(metaspace):
    text = b"<s>the low</s>\n"
    for option, expected in (([], 0), (["--allowed-special", "<s>,</s>"], 2)):
        result = run("encode", "-m", metaspace, *option, input=text)
        words = result.stdout.decode().split()
        assert words.count("<s>") + words.count("</s>") == expected
        assert run("decode", "-m", metaspace, input=result.stdout).stdout == text
    assert run("encode", "-m", metaspace, "--allowed-special", "all", input=text).stdout == (
        result.stdout
    )
    skipped = run("decode", "-m", metaspace, "--skip-special", input=b"<s> \xe2\x96\x81 </s>\n")
    assert skipped.stdout == b"\n"


def test_dropout_is_repeatable(metaspace):
    text = b"the lowest newest\n" * 20
    first, again, other = (
        run("encode", "-m", metaspace, "--dropout", "0.3", "--seed", seed, input=text).stdout
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(set(first.splitlines())) > 3
    assert run("decode", "-m", metaspace, input=first).stdout == text


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["encode", "--as", "npy"], b"", "name the first with -o"),
        (["encode", "--allowed-special", "<nope>"], b"", "<nope>"),
        (["encode"], b"low\n\xff\n", "stdin, line 2: invalid UTF-8 (byte 0xFF at offset 4)"),
        (["encode"], b"\xff\n", "convert it (iconv -t UTF-8)"),
        (["decode", "--as", "npy", __file__], b"", "is not a NumPy file of numbers as volt"),
        (["encode", "/no/such/file"], b"", "no such file"),
        (["decode"], b"99999 9998\n", "vocabulary's tokens; these look like ids: --as ids"),
        (["decode"], b"e\nxyz e\n", "stdin, line 2: 'xyz' is not one of the vocabulary's tokens"),
        (["decode", "--as", "ids"], b"1\n999999\n", "line 2: '999999' is not one of"),
        (["decode", "--as", "ids"], b"-1\n", "'-1'"),
        (["decode"], b"\x93NUMPY\x01\n", "this is a NumPy file: --as npy"),
        (["decode"], b"\x01\0\x07\0", "numbers in bytes, as token files for training have them"),
        (["decode", "--as", "npy", "/no/such.npy"], b"", "cannot read /no/such.npy"),
    ],
)
def test_what_cannot_be_done_is_said(metaspace, arguments, text, message):
    command, *options = arguments
    result = run(command, "-m", metaspace, *options, input=text)
    assert result.returncode == 2
    assert result.stderr.decode().startswith("volt: ")
    assert message in result.stderr.decode()


def test_a_tokenizer_of_another_toolkit_is_to_be_imported_first(metaspace, tmp_path):
    tok, out = tmp_path / "tok", tmp_path / "out"
    assert run("export", "-m", metaspace, "--to", "hf", "-o", tok).returncode == 0
    for one in (tok, tok / "tokenizer.json"):
        said = f"{one} is a tokenizer.json of Hugging Face, not a vocabulary of volt; read it "
        said += f"first: volt import {one} -o DIR"
        for arguments in (
            ["encode", "-m", one],
            ["decode", "-m", one],
            ["export", "-m", one, "--to", "hf", "-o", out],
            ["merge", metaspace, one, "-o", out],
        ):
            result = run(*arguments, input=b"low\n")
            assert (result.returncode, result.stdout) == (2, b"")
            assert result.stderr.decode() == f"volt: {said}\n"


def test_without_eos_the_way_out_is_an_option_that_there_is(tmp_path):
    (tmp_path / "text").write_text("low low\n")
    learned = ["learn", tmp_path / "text", "--special", "<pad>", "--size", "262", "--splits", "1"]
    assert run(*learned, "-o", tmp_path / "out").returncode == 0
    arguments = ["encode", "-m", tmp_path / "out", tmp_path / "text", "--as", "bin"]
    result = run(*arguments, "-o", tmp_path / "ids.bin")
    assert result.returncode == 2
    assert "learn with --eos, or use --no-document-eos\n" in result.stderr.decode()
    assert run(*arguments, "-o", tmp_path / "ids.bin", "--no-document-eos").returncode == 0


def test_npy_has_no_eos(metaspace, tmp_path):
    """It is plain: asking for eos is refused, and `token_bytes.npy` is not written."""
    (tmp_path / "text").write_text("low\n\nlow\n")
    arguments = ["-m", metaspace, tmp_path / "text", "--as", "npy", "-o", tmp_path / "ids.npy"]
    result = run("encode", *arguments, "--document-eos")
    assert result.returncode == 2
    assert "`npy` has no eos after documents" in result.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    assert run("encode", *arguments, "--no-document-eos").returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"text", "ids.npy", "ids.offsets.npy"}
    assert len(np.load(tmp_path / "ids.offsets.npy")) == 4


def test_token_files_say_their_numbers_what_is_beside_them_and_what_resume_keeps(
    metaspace, tmp_path
):
    (tmp_path / "text").write_text("low low\n")
    arguments = ["-m", metaspace, tmp_path / "text", "--resume", "-o", tmp_path / "x.bin"]
    said = " ".join(run("encode", *arguments, "--as", "bin").stderr.decode().split())
    assert "goes on after the last whole piece (64 MiB of lines," in said
    assert "what came after it is encoded again" in said
    assert "(uint16)" in said
    table = f"wrote {tmp_path / 'token_bytes.npy'}: bytes of text per token, the same for all files"
    assert table in said
    said = " ".join(run("encode", *arguments, "--as", "bin").stderr.decode().split())
    assert "x.bin is complete: " in said
    assert "nothing is left to do (--force encodes them again)" in said
    shown = " ".join(run("encode", "--help").stdout.decode().split())
    assert "npy has 32 bits per id, other token files 16 where ids fit" in shown


def test_a_missing_or_damaged_vocabulary(tmp_path):
    assert b"has no volt.json" in run("encode", "-m", tmp_path, input=b"").stderr
    (tmp_path / "volt.json").write_text('{"format": 1')
    result = run("encode", "-m", tmp_path, input=b"")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"is not JSON" in result.stderr


def test_invalid_text_can_be_replaced(metaspace):
    result = run("encode", "-m", metaspace, "--on-invalid", "replace", input=b"lo\xffw\n")
    decoded = run("decode", "-m", metaspace, input=result.stdout)
    assert decoded.stdout.decode() == "lo\ufffdw\n"


def test_a_damaged_pair_of_numpy_files(metaspace, tmp_path):
    np.save(tmp_path / "a.npy", np.array([5, 6], np.uint32))
    for offsets in (np.array([0, 1], np.uint64), np.array([0, 9, 2], np.uint64), np.array([0.0])):
        np.save(tmp_path / "a.offsets.npy", offsets)
        result = run("decode", "-m", metaspace, "--as", "npy", tmp_path / "a.npy")
        assert (result.returncode, result.stdout) == (2, b"")


def test_a_stream_takes_constant_memory(metaspace):
    """A long stream, then one many times longer: the peak stays."""
    peaks = []
    for lines in (500_000, 3_000_000):
        process = subprocess.Popen(
            [VOLT, "encode", "-m", metaspace, "--threads", "2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(lines // 10_000):
            process.stdin.write(b"the lowest newest wider\n" * 10_000)
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)  # which tells the peak of this one process
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss)
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize("form", ["tokens", "ids", "npy"])
@pytest.mark.parametrize("mode", ["metaspace", "byte_level", "whitespace"])
@given(data=st.data(), block=st.integers(1, 40), skip=st.booleans(), ended=st.booleans())
def test_a_line_is_decoded_in_parts_as_at_once(request, mode, form, data, block, skip, ended):
    tok = volt.load(request.getfixturevalue(mode))
    ids = st.lists(st.integers(0, len(tok) - 1), max_size=30)
    files = data.draw(st.lists(st.lists(ids, max_size=3), min_size=1, max_size=2))
    folder = request.getfixturevalue("tmp_path_factory").getbasetemp()
    names = [str(folder / f"parts-{number}.{form}") for number in range(len(files))]
    for name, lines in zip(names, files, strict=True):
        if form == "npy":
            np.save(name, np.array([i for line in lines for i in line], np.uint32))
            ends = np.cumsum([0, *map(len, lines)]).astype(np.uint64)
            np.save(name.replace(".npy", ".offsets.npy"), ends)
        else:
            shown = tok.printed if form == "tokens" else [*map(str, range(len(tok)))]
            text = "\n".join(" ".join(shown[i] for i in line) for line in lines)
            Path(name).write_bytes(text.encode() + b"\n" * ended)

    def decoded(size):
        asked = DecodeCommand(form=form, unit="line", skip_special=skip)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("volt.cli.decode.BLOCK", size)
            return b"".join(FileDecoder(tok, asked).blocks(names))

    whole = decoded(1 << 20)
    assert decoded(block) == whole
    if ended and form != "npy" and all(files):
        expected = [tok.decode(line, skip_special=skip) + "\n" for lines in files for line in lines]
        assert whole.decode() == "".join(expected)


def test_a_wrong_model_says_what_is_expected(metaspace, tmp_path):
    (tmp_path / "text").write_text("low\n")
    swapped = run("encode", "-m", tmp_path / "text", metaspace)
    assert swapped.returncode == 2
    command = f"volt encode -m {metaspace} {tmp_path}/text"
    assert f"are they swapped? {command}" in swapped.stderr.decode()
    for model, said in (
        ("text", "a list of tokens, not a vocabulary of volt: -m takes a folder that volt learn"),
        ("nothing", ": name a folder that volt learn wrote"),
        ("txt", f"no such vocabulary: {tmp_path}/txt; did you mean {tmp_path}/text?"),
        ("", "has no volt.json: name a folder that volt learn wrote"),
    ):
        done = run("encode", "-m", tmp_path / model, input=b"low")
        assert done.returncode == 2 and said in " ".join(done.stderr.decode().split())
    done = run("import", tmp_path / "text", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert b"learn from it (volt learn)" in done.stderr and b"--on" in done.stderr
    with pytest.raises(volt.InputError, match="no such vocabulary"):
        volt.load(tmp_path / "nothing")
    (tmp_path / "text").rename(tmp_path / "text.txt")
    with pytest.raises(volt.InputError, match=r"tekst.txt; did you mean .*/text.txt\? If"):
        volt.learn([str(tmp_path / "tekst.txt")])
