"""CLIP's own file of merges, bpe_simple_vocab_16e6.txt.gz."""

import gzip
import json
from functools import lru_cache
from itertools import product
from string import ascii_lowercase

import pytest

import volt
from volt.base.errors import VoltError
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine

transformers = pytest.importorskip("transformers")

TEXTS = [*built_in(), "A photo of  a cat.\n", "<|startoftext|>the cat's PHOTO<|endoftext|> 12é🙂"]


def bytes_to_unicode():
    """OpenAI's."""
    some = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [*some]
    for byte in range(256):
        if byte not in some:
            some.append(byte)
            letters.append(256 + len(letters) - 188)
    return dict(zip(some, map(chr, letters), strict=True))


@lru_cache
def listed():
    """More merges than CLIP uses."""
    two = [*product(ascii_lowercase, repeat=2)]
    lines = [f"{a} {b}" for a, b in two] + [f"{a} {b}</w>" for a, b in two]
    lines += [f"{a}{b} {c}" for (a, b), c in product(two, ascii_lowercase)]
    lines += [f"{a}{b} {c}</w>" for (a, b), c in product(two, ascii_lowercase)]
    lines += [f"{a}{b} {c}{d}" for (a, b), (c, d) in product(two[::30], two)]
    return (lines + ["Ã ©</w>", "ð Ł", "' s</w>", "1 2</w>"] * 10)[:60_000]


def written(path, open_=gzip.open):
    with open_(path, "wb") as stream:
        text = "\n".join(['"bpe_simple_vocab_16e6.txt#version: 0.2', *listed(), ""])
        stream.write(text.encode())
    return path


def by_transformers():
    """As OpenAI's SimpleTokenizer numbers tokens."""
    merges = [tuple(line.split()) for line in [None, *listed()][1 : 49152 - 256 - 2 + 1]]
    vocab = [*bytes_to_unicode().values()]
    vocab += [letter + "</w>" for letter in vocab]
    vocab += map("".join, merges)
    vocab += ["<|startoftext|>", "<|endoftext|>"]
    numbered = dict(zip(vocab, range(len(vocab)), strict=True))
    return transformers.CLIPTokenizer(vocab=numbered, merges=merges)


def test_the_file_gives_the_ids_of_transformers(tmp_path):
    theirs = by_transformers()
    for path in (written(tmp_path / "bpe_simple_vocab_16e6.txt.gz"),
                 written(tmp_path / "clip.txt", open)):  # fmt: skip
        opened = open_engine(path, pattern="clip")
        assert opened.said.startswith("bpe_simple_vocab of CLIP, encoded by tokenizers")
        assert opened.engine.size == len(theirs)
        expected = theirs(TEXTS, add_special_tokens=False)["input_ids"]
        assert opened.engine.encode_batch(TEXTS) == expected
    assert volt.compare([tmp_path], [["a photo"]], pattern="clip").rows[0].size == len(theirs)


def test_how_text_is_cleaned_is_asked_for(tmp_path):
    path = written(tmp_path / "bpe_simple_vocab_16e6.txt.gz")
    for pattern in (None, "byte-level"):
        with pytest.raises(VoltError, match=r"`pattern` clip is .* or name a tokenizer\.json"):
            open_engine(path, pattern=pattern)
    with pytest.raises(VoltError, match="pre_tokenizer"):
        volt.import_vocabulary(path, pattern="clip")
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(VoltError, match="damaged or cut short"):
        open_engine(path, pattern="clip")
    with gzip.open(tmp_path / "other.gz", "wb") as stream:
        stream.write(b"a b\n")
    with pytest.raises(VoltError, match="compressed, and not bpe_simple_vocab of CLIP: unpack it"):
        open_engine(tmp_path / "other.gz")


def test_refit_and_extend_write_a_tokenizer_json(tmp_path):
    path = written(tmp_path / "bpe_simple_vocab_16e6.txt.gz")
    before = open_engine(path, pattern="clip").engine
    text = "a photo of a cat, and a photo of another cat\n" * 9
    small = volt.refit(path, [[text]], size=3000, pattern="clip")
    small.save(tmp_path / "small")
    after = transformers.AutoTokenizer.from_pretrained(tmp_path / "small")
    old = [before.names[i] for i in before.encode(text)]
    assert after.tokenize(text) == old
    around = json.loads((tmp_path / "small" / "tokenizer.json").read_text())["post_processor"]
    assert around["cls"] == ["<|startoftext|>", after.convert_tokens_to_ids("<|startoftext|>")]
    large = volt.extend(path, [[text]], 2, pattern="clip")
    new = large.original.changed(large.change)
    assert new.size == before.size + 2
    for one in TEXTS:
        assert len(new.encode(one)) <= len(before.encode(one))
