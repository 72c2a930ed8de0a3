"""Whole documents: the words, ids and numbers of tokens that the tokenizer's own library gives."""

import random
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import sample_lines

import volt
from volt import _core
from volt.counting.words import DEEPSEEK, PRETOKENIZERS

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, pre_tokenizers  # noqa: E402

BYTE_LEVEL = [name for name, mode in PRETOKENIZERS.items() if mode.byte_level]
PARTS = [
    *"aASǅſ1²!/'«\u0301é日。「ー・ガア゠一龥龦 \t\n\r\u00a0\u3000\u2028\u0085\x00\u200b\ue000_#",
    "'s", "'LL", "'Re", "12345", "\r\n", "  ", "def f(x):", "\n    ", "return", "!!\n\n", " \n ",
    "x" * 70, "\n" * 70, " " * 70, "!" * 70, "\n/\n/" * 30, "漢" * 70, "\x00" * 70, "!abcé",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PARTS), max_size=40).map("".join)


def code():
    """Modules of Python's own library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = [folder / f"{name}.py" for name in ("ast", "csv", "heapq", "locale", "textwrap")]
    return [file.read_text(encoding="utf-8") for file in files]


def documents():
    """Code, prose and text in many scripts."""
    lines = sample_lines()
    return [*code(), "\n".join(lines[:200]), "\r\n\r\n".join(lines[200:300])]


def library_words(mode):
    """The pre-tokenizer of Hugging Face with the same patterns."""
    if mode.name == "byte-level:starcoder":
        first = [pre_tokenizers.Digits(individual_digits=True)]
    else:
        first = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in mode.patterns]
    letters = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=mode.name == "byte-level:starcoder"
    )
    both = pre_tokenizers.Sequence([*first, letters])
    return lambda text: [text[a:b] for _, (a, b) in both.pre_tokenize_str(text)]


@pytest.mark.parametrize("pretokenizer", [*BYTE_LEVEL, r"custom:\p{L}+\n?|\s+", r"custom:\d{1,3}"])
def test_words(pretokenizer):
    mode = PRETOKENIZERS[pretokenizer]
    expected = library_words(mode)
    for text in documents():
        assert mode.words(text) == expected(text)

    @given(hostile)
    def check(text):
        assert mode.words(text) == expected(text)

    check()


@pytest.mark.parametrize("pretokenizer", [*BYTE_LEVEL, r"custom:\p{L}+\n?|\s+"])
def test_learned_exported_and_back(pretokenizer, tmp_path):
    files = []
    for number, text in enumerate(documents()):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_bytes(text.encode())
    vocabulary = volt.learn(files, pretokenizer=pretokenizer, size=1200).vocabulary
    assert any("Ċ" in token for token in vocabulary.of_kind("merged"))
    vocabulary.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json")
    written = volt.export(vocabulary, "hf", tmp_path / "hf").files[0]
    other = tokenizers.Tokenizer.from_file(str(written))
    generator = random.Random(3)
    texts = [*documents(), *("".join(generator.choices(PARTS, k=40)) for _ in range(60))]
    for text in texts:
        assert tok.encode(text) == other.encode(text).ids
        assert tok.decode(tok.encode(text)) == text

    # Files are documents.
    expected = [other.encode(file.read_bytes().decode()).ids for file in files]
    for file, ids in zip(files, expected, strict=True):
        found, offsets = tok.encode_file(file)
        assert found.tolist() == ids
        assert offsets.tolist() == [0, len(ids)]
    rows = b"".join(tok.encode_to_text(files, "ids")).decode().splitlines()
    assert [[int(i) for i in row.split()] for row in rows] == expected

    # And so they are to `compare`, whichever library encodes them.
    on = volt.compare([tmp_path / "volt.json", written], files)
    assert [row.tokens for row in on.rows] == [sum(map(len, expected))] * 2
    if not pretokenizer.startswith("custom"):
        again, messages = volt.import_vocabulary(written)
        assert not messages
        assert again.rule == vocabulary.rule


def test_the_patterns_of_deepseek_with_line_breaks_as_themselves(tmp_path):
    vocabulary = volt.learn([["a b\n c"]], pretokenizer="byte-level:deepseek", size=260).vocabulary
    file = volt.export(vocabulary, "hf", tmp_path).files[0]
    shown = DEEPSEEK[2].replace("\\", "\\\\").replace('"', '\\"')
    text = file.read_text(encoding="utf-8")
    assert shown in text
    plain = shown.replace("\\\\r\\\\n", "\\r\\n")
    file.write_text(text.replace(shown, plain), encoding="utf-8")
    again, _ = volt.import_vocabulary(file)
    assert again.rule.pretokenizer == "byte-level:deepseek"


def test_cuts_are_those_of_the_library():
    """A document that is cut in two has the same words to the library as well."""
    modes = [PRETOKENIZERS[name] for name in BYTE_LEVEL]
    generator = random.Random(9)
    for _ in range(150):
        text = "".join(generator.choices(PARTS, k=12))
        data = text.encode()
        for mode in modes:
            expected = library_words(mode)
            for cut in _core.cuts_of(text, mode.native):
                halves = (data[:cut].decode(), data[cut:].decode())
                assert [*expected(halves[0]), *expected(halves[1])] == expected(text)
