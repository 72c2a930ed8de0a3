"""The encodings that look tokens up, `longest` and `unigram`: equal to the slow twins."""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import WordRule, reference
from volt.base.errors import InputError
from volt.counting.marks import BYTE_LETTERS
from volt.proposing.tokens import Token
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import LookUp, Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

LETTERS = st.text("ab", min_size=1, max_size=12)
TEXTS = st.text("aab bc. 1#\t\n\r▁é日\u00a0\0", max_size=40)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def vocabularies(draw, encoding=None, exact=False):
    """Tokens of few letters with any scores: many ways to cut a word, many of them equally good."""
    encoding = encoding or draw(st.sampled_from(["longest", "unigram"]))
    pretokenizer = draw(st.sampled_from(["metaspace", "whitespace", "byte-level"]))
    marked = (pretokenizer, encoding) == ("whitespace", "longest")
    mark = "##" if marked and draw(st.booleans()) else ""
    final = "</w>" if pretokenizer == "whitespace" and not mark else ""
    texts = {*draw(st.sets(st.text("abé1.", min_size=1, max_size=5), max_size=12))}
    texts |= set("ab")
    if pretokenizer == "metaspace":
        texts |= {"▁" + text for text in texts if draw(st.booleans())} | {"▁"}
    elif pretokenizer == "byte-level":
        texts = {"".join(chr(BYTE_LETTERS[byte]) for byte in text.encode()) for text in texts} | {
            chr(letter) for letter in BYTE_LETTERS.values()
        }
    elif mark:
        texts |= {mark + text for text in texts if draw(st.booleans())}
        texts |= {mark} if draw(st.booleans()) else set()
    else:
        texts |= {text + final for text in texts}
    score = st.integers(-20, 0) if exact else st.floats(-20, 0)
    scored = encoding == "unigram"
    unknown = "byte" if pretokenizer != "whitespace" and draw(st.booleans()) else "unk"
    if pretokenizer == "byte-level":
        unknown = "byte"
    tokens = [Token("<unk>", "special"), Token("<a>", "symbol")]
    if unknown == "byte" and pretokenizer == "metaspace":
        tokens += [Token(f"<0x{byte:02X}>", "byte") for byte in range(256)]
    for text in sorted(texts):
        plain = text.removeprefix(mark).removesuffix(final)
        kind = "character" if len(plain) == 1 else "piece"
        tokens.append(Token(text, kind, score=float(draw(score)) if scored else 0.0))
    unknown_id_needed = unknown == "unk"
    return Vocabulary(
        WordRule(pretokenizer),
        tokens,
        encoding=encoding,
        unknown=unknown,
        fuse_unknown=scored and unknown == "unk" and draw(st.booleans()),
        look_up=LookUp(
            mark=mark,
            longest_word=draw(st.sampled_from([0, 3, 9])) if unknown_id_needed else 0,
            unknown_score=-30.0,
            arithmetic=draw(st.sampled_from(["float32", "float64"])),
            restart=draw(st.sampled_from(["space", "text"])),
        ),
    )


def tokens_of(tok, ids):
    return [tok.tokens[i] for i in ids]


@given(vocabularies(), st.lists(LETTERS | TEXTS | ANY, max_size=8))
def test_encoding_equals_the_slow_twin(vocabulary, texts):
    tok = Tokenizer(vocabulary, threads=1)
    for text in [*texts, "  ".join(texts), "<a>".join(texts)]:
        assert tokens_of(tok, tok.encode(text)) == reference.encode.encode(text, vocabulary)


@given(vocabularies(), st.lists(LETTERS | TEXTS, max_size=8))
def test_files_are_encoded_as_texts(tmp_path_factory, vocabulary, texts):
    tok = Tokenizer(vocabulary, threads=2)
    path = tmp_path_factory.getbasetemp() / "look-up-lines"
    path.write_bytes("\n".join(texts).encode() + b"\n")
    lines = "\n".join(texts).split("\n")
    ids, offsets = tok.encode_file(path, unit="line")
    assert [
        ids[a:b].tolist() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ] == [tok.encode(line) for line in lines]
    assert tok.encode_batch(lines) == [tok.encode(line) for line in lines]


@given(vocabularies(), TEXTS | ANY)
def test_bytes_make_it_lossless(vocabulary, text):
    tok = Tokenizer(vocabulary, threads=1)
    if vocabulary.unknown == "byte":
        assert tok.decode(tok.encode(text)) == text


def test_words_with_inner_marks_are_joined():
    tokens = [Token("[UNK]", "special"), *(Token(c, "character") for c in "abc")]
    tokens += [Token("##" + c, "character") for c in "bc"] + [Token("##bc", "piece")]
    tok = Tokenizer(
        Vocabulary(
            WordRule("whitespace"), tokens, encoding="longest", unknown="unk",
            unknown_token="[UNK]", look_up=LookUp(mark="##"),
        )
    )  # fmt: skip
    ids = tok.encode(" abc  a\tcab abcb ##bca")
    assert tokens_of(tok, ids) == ["a", "##bc", "a", "[UNK]", "a", "##bc", "##b", "[UNK]"]
    assert tok.decode(ids) == "abc a [UNK] abcb [UNK]"
    assert tokens_of(tok, tok.encode("##bcb")) == ["##bc", "##b"]  # as WordPiece does
    assert tok.encode_with_offsets("abc  cab")[1] == [(0, 1), (1, 3), (5, 8)]


@given(vocabularies(), TEXTS | ANY)
def test_offsets_cover_the_text(vocabulary, text):
    tok = Tokenizer(vocabulary, threads=1)
    ids, spans = tok.encode_with_offsets(text)
    assert ids == tok.encode(text)
    covered = set()
    for token, (start, end) in zip(ids, spans, strict=True):
        assert 0 <= start <= end <= len(text)
        covered |= set(range(start, end))
        piece = vocabulary.tokens[token]
        if piece.kind in ("character", "piece") and vocabulary.rule.pretokenizer != "byte-level":
            plain = vocabulary.plain_text(piece.text).decode()
            assert text[start:end] in (plain, plain.removeprefix(" "))
    blanks = " \t\r\n" if vocabulary.rule.pretokenizer == "whitespace" else ""
    assert all(i in covered or character in blanks for i, character in enumerate(text))


def long_text(seed, characters="abé1. ", size=200_000):
    return "".join(random.Random(seed).choices(characters, k=size))


def scored(arithmetic, restart, scores=None):
    generator = random.Random(2)
    texts = ["▁", *"abé1.", "ab", "ba", "aa", "▁a", "▁ab", "b1", "1.", ".é", "aba", "éé", "b.a"]
    scores = scores or {text: -generator.uniform(1, 12) for text in texts}
    tokens = [Token("<unk>", "special")]
    tokens += [
        Token(text, "piece" if len(text) > 1 else "character", score=score)
        for text, score in scores.items()
    ]
    return Vocabulary(
        WordRule("metaspace"), tokens, encoding="unigram", unknown="unk",
        look_up=LookUp(unknown_score=-30.0, arithmetic=arithmetic, restart=restart),
    )  # fmt: skip


@pytest.mark.parametrize("restart", ["text", "space"])
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_sums_go_on_through_a_long_line(tmp_path, arithmetic, restart):
    """However the line is read: whole, in parts, with many threads."""
    vocabulary = scored(arithmetic, restart)
    text = long_text(1) + "a" * 9_000_000  # longer than what is read at a time
    path = tmp_path / "line"
    path.write_text(text, encoding="utf-8")
    expected = Tokenizer(vocabulary, threads=1).encode(text)
    for threads in (1, 2):
        ids, offsets = Tokenizer(vocabulary, threads=threads).encode_file(path)
        assert ids.tolist() == expected
        assert offsets.tolist() == [0, len(expected)]


def test_single_precision_is_that_of_the_twin():
    """Sums that are equal but for rounding: where the word stands decides."""
    scores = {"▁": -3.3, "a": -5.1, "aa": -7.3, "aaa": -13.7}
    kinds = {text: "piece" if len(text) > 1 else "character" for text in scores}
    tokens = [Token(text, kinds[text], score=score) for text, score in scores.items()]
    generator = random.Random(3)
    text = " ".join("a" * generator.randint(1, 9) for _ in range(300))
    results = []
    for arithmetic in ("float32", "float64"):
        look_up = LookUp(unknown_score=-30.0, arithmetic=arithmetic, restart="text")
        vocabulary = replace(
            scored(arithmetic, "text"), tokens=[Token("<unk>", "special"), *tokens], look_up=look_up
        )
        tok = Tokenizer(vocabulary)
        results.append(tokens_of(tok, tok.encode(text)))
        assert results[-1] == reference.encode.encode(text, vocabulary)
    assert results[0] != results[1]


def test_exact_scores_need_no_arithmetic():
    """Multiples of 1/1024: all four ways give the same."""
    text = long_text(4, size=5000)
    results = []
    for arithmetic in ("float32", "float64"):
        for restart in ("text", "space"):
            vocabulary = scored(arithmetic, restart)
            tokens = [t._replace(score=round(t.score * 8) / 8) for t in vocabulary.tokens]
            results.append(Tokenizer(replace(vocabulary, tokens=tokens)).encode(text))
    assert all(result == results[0] for result in results)


@given(vocabularies())
def test_saved_and_loaded(tmp_path_factory, vocabulary):
    path = tmp_path_factory.getbasetemp() / "look-up.json"
    vocabulary.save(path)
    again = load_vocabulary(path)
    assert again.to_json() == vocabulary.to_json()
    assert (again.tokens, again.look_up) == (vocabulary.tokens, vocabulary.look_up)


def test_unreachable():
    vocabulary = scored("float64", "space")
    tokens = [t._replace(score=-40.0) if t.text == "aba" else t for t in vocabulary.tokens]
    changed = replace(vocabulary, tokens=tokens)
    assert "aba" in [tokens[i].text for i in find_unreachable(Tokenizer(changed))]


def test_words_of_counts():
    counts = volt.count([["ab aba 1.é zz"]], pretokenizer="metaspace")
    tok = Tokenizer(scored("float64", "space"))
    ids, offsets = tok.encode_words(counts)
    for word, begin, end in zip(
        counts.words, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True
    ):
        if word.startswith("▁"):
            assert ids[begin:end].tolist() == tok.encode(word.removeprefix("▁"))


def test_dropout_is_refused():
    with pytest.raises(volt.SettingsError, match="unigram"):
        Tokenizer(scored("float64", "space")).encode("ab", dropout=0.1)


@pytest.mark.parametrize("encoding", ["longest", "unigram"])
def test_the_longest_words_take_seconds(encoding):
    vocabulary = scored("float32", "text")
    if encoding == "longest":
        vocabulary = replace(
            vocabulary,
            encoding="longest",
            tokens=[t._replace(score=0.0) for t in vocabulary.tokens],
        )
    tok = Tokenizer(vocabulary)
    different = "".join(map(chr, range(0x4E00, 0x4E00 + 20_000))) * 5
    assert len(tok.encode("a" * 1_000_000)) > 300_000
    assert len(tok.encode(different)) == (1 if encoding == "longest" else 100_001)


BROKEN = [
    ({"look_up": None}, "look_up"),
    ({"look_up": {}}, "look_up.mark"),
    ({"look_up": {"mark": "##"}}, "look_up"),
    ({"encoding": "longest"}, "score"),
    ({"format": 1}, "look_up: not in format 1"),
    ({"format": 9}, "format"),
    ({"unknown_token": "nothing"}, "unknown"),
    ({"unknown_token": 3}, "unknown_token"),
    ({"fuse_unknown": 1}, "fuse_unknown"),
    ({"hidden": [{"id": 18, "text": "x", "kind": "character", "frequency": 0}]}, "hidden"),
]


@pytest.mark.parametrize(("change", "named"), BROKEN)
def test_a_broken_file_names_the_field(tmp_path, change, named):
    data = json.loads(scored("float64", "space").to_json())
    path = tmp_path / "volt.json"
    path.write_text(json.dumps(data | change))
    with pytest.raises(volt.InputError, match=named):
        volt.load(path)


@pytest.mark.parametrize("score", [None, "1", 1e300, float("nan"), float("inf"), True, 3])
def test_a_score_is_a_number(tmp_path, score):
    data = json.loads(scored("float64", "space").to_json())
    data["tokens"][3]["score"] = score
    path = tmp_path / "volt.json"
    path.write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match="score"):
        volt.load(path)
    for number in (4, 5):
        data["tokens"][3]["score"] = -1.5
        data["look_up"]["unknown_score"] = [None, 1e9][number - 4]
        path.write_text(json.dumps(data))
        with pytest.raises(volt.InputError, match="unknown_score"):
            volt.load(path)


def test_scores_go_with_unigram_only(tmp_path):
    vocabulary = replace(scored("float64", "space"), encoding="longest")
    data = json.loads(vocabulary.to_json())
    data["tokens"][3]["score"] = -1.0
    path = tmp_path / "volt.json"
    path.write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match="score"):
        volt.load(path)
    assert np.isfinite(scored("float64", "space").tokens[3].score)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_files_of_every_format_are_read(version):
    """Written once by the volt that brought the format, and never again."""
    path = Path(__file__).parents[1] / "golden" / f"volt-format-{version}.json"
    tok = volt.load(path)  # checks the ids of its samples
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == version
    assert len(tok.vocabulary.self_test) > 12
    written = [tok.vocabulary.to_json(), path.read_text(encoding="utf-8")]
    lines = [[line for line in text.split("\n") if '"volt":' not in line] for text in written]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("encoding", ["longest", "unigram"])
def test_inner_marks_are_for_whitespace_text(encoding):
    letters = [Token(chr(letter), "character") for letter in BYTE_LETTERS.values()]
    vocabulary = Vocabulary(
        WordRule("byte-level"), letters, encoding=encoding, look_up=LookUp(mark="##")
    )
    with pytest.raises(InputError, match="a mark of inner tokens is for whitespace text"):
        Tokenizer(vocabulary)


@given(
    st.floats(-12, -1),
    st.floats(-12, -1),
    st.sampled_from([0.0, 1e-7, -1e-7, 1e-6, -3e-6, 1e-5, -1e-4, 1e-3]),
    st.sampled_from(["float32", "float64"]),
    st.integers(0, 3),
)
def test_words_that_nearly_tie_depend_on_what_comes_before(first, second, apart, arithmetic, more):
    """A word that occurs again is remembered only as far as rounding can't change it."""
    scores = {"▁": -2.0, "a": first, "b": second, "ab": first + second + apart, "c": -7.3}
    vocabulary = scored(arithmetic, "text", scores)
    tokenizer = Tokenizer(vocabulary)
    text = " ".join(["ab", "c", "abab", "cab"] * 40) + " ab" * more
    found = [tokenizer.id_to_token(i) for i in tokenizer.encode(text)]
    assert found == reference.encode.encode(text, vocabulary)
    assert tokenizer.count(text) == len(tokenizer.encode(text))
