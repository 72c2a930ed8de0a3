"""The native encoder: equal to the slow twin on any text, with any vocabulary and any threads."""

import functools
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import volt
from volt import WordRule, _core, reference
from volt.counting.words import PRETOKENIZERS as REGISTERED
from volt.proposing.tokens import Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

PRETOKENIZERS = list(REGISTERED)
RULES = ["pairs", "concat"]
ENCODINGS = ["merge", "split"]

# Few letters, so that ties, repeats and tokens that can be reached in two ways are common.
few_letters = st.text("ab", min_size=1, max_size=12)
some_letters = st.text("abc 1.", max_size=16)
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
spaces = st.text(" \t\n\r\u00a0\u2581\u3000\u0085\0a.é", max_size=12)


@st.composite
def vocabularies(draw):
    """A vocabulary learned from few words, with some of its candidates chosen at random."""
    lines = st.lists(few_letters | some_letters, min_size=1, max_size=12)
    pretokenizer = draw(st.sampled_from(PRETOKENIZERS))
    found = volt.candidates(
        [draw(lines)], pretokenizer=pretokenizer, merges=60, min_frequency=1, coverage=1.0
    )
    merged = range(found.alphabet_size, len(found))
    chosen = draw(st.sets(st.sampled_from(merged), max_size=20)) if merged else set()
    unknown = draw(st.sampled_from(["byte", "unk"])) if pretokenizer == "metaspace" else None
    return build_vocabulary(
        replace(found, encoding=draw(st.sampled_from(ENCODINGS))),
        chosen,
        merge_rule=draw(st.sampled_from(RULES)),
        unknown=unknown,
        symbols=draw(st.sampled_from([(), ("<a>",), ("b a", "b ab", "<a>")])),
    )


def tokens_of(tok: Tokenizer, ids) -> list[str]:
    return [tok.tokens[i] for i in ids]


@given(vocabularies(), st.lists(few_letters | some_letters | spaces | any_text, max_size=8))
def test_encoding_equals_the_slow_twin(vocabulary, texts):
    tok = Tokenizer(vocabulary, threads=1)
    for text in texts:
        assert tokens_of(tok, tok.encode(text)) == reference.encode.encode(text, vocabulary)


@given(vocabularies(), few_letters, st.integers(30, 90))
@example(
    build_vocabulary(volt.candidates([["aaaaaaaaa"]], min_frequency=1), [], merge_rule="concat"),
    "a",
    64,
)
def test_long_words_equal_the_slow_twin(vocabulary, part, length):
    """Words too long for the scan of short ones go through the heap."""
    text = part * (length // len(part))
    tok = Tokenizer(vocabulary, threads=1)
    assert tokens_of(tok, tok.encode(text)) == reference.encode.encode(text, vocabulary)


def test_random_long_words_equal_the_slow_twin():
    generator = random.Random(11)
    for _ in range(40):
        lines = ["".join(generator.choices("abc", k=generator.randint(1, 14))) for _ in range(60)]
        found = volt.candidates([lines], min_frequency=1, pretokenizer="metaspace", merges=150)
        merged = range(found.alphabet_size, len(found))
        for rule in RULES:
            for encoding in ENCODINGS:
                vocabulary = build_vocabulary(
                    replace(found, encoding=encoding), generator.sample(merged, 20), merge_rule=rule
                )
                tok = Tokenizer(vocabulary, threads=1)
                for length in (31, 32, 33, 70):
                    text = "".join(generator.choices("abc", k=length))
                    expected = reference.encode.encode(text, vocabulary)
                    assert tokens_of(tok, tok.encode(text)) == expected


@pytest.mark.parametrize("letters", ["ab", "abc", "aé"])
def test_long_words_are_the_same_when_their_tokens_are_fitted(letters):
    """After eight bytes per token, long byte-level words are no longer merged. An order of merges
    drawn at random leaves tokens that no text becomes; with a token before its parent, words are
    merged as before."""
    generator = random.Random(7)
    for trial in range(8):
        words = ["".join(generator.choices(letters, k=generator.randint(1, 14))) for _ in range(60)]
        found = volt.candidates([words], min_frequency=1, pretokenizer="byte-level", merges=150)
        chosen = generator.sample(range(found.alphabet_size, len(found)), 30)
        vocabulary = build_vocabulary(found, chosen, merge_rule="pairs")
        if trial % 2:
            vocabulary = with_ranks(vocabulary, generator, whole=trial % 4 == 1)
        tok = Tokenizer(vocabulary, threads=1)
        tok.encode(letters[0] * (9 * len(vocabulary.pool)))
        texts = [
            "".join(generator.choices(letters, k=generator.randint(33, 140))) for _ in range(25)
        ]
        for text in [*texts, letters * 50, letters[0] * 70, letters[:2] * 33 + letters[0]]:
            expected = reference.encode.encode(text, vocabulary)
            assert tokens_of(tok, tok.encode(text)) == expected


def with_ranks(vocabulary: Vocabulary, generator: random.Random, whole: bool) -> Vocabulary:
    """Merges in another order: one in which parents come first (`whole`), or any at all."""
    pool = vocabulary.pool
    keys = {i: generator.random() for i, token in enumerate(pool) if token.parents}

    def key(i: int) -> float:
        after = max((key(parent) for parent in pool[i].parents or ()), default=0.0)
        return max(keys.get(i, 0.0), after + 1e-9) if whole else keys.get(i, 0.0)

    order = {i: rank for rank, i in enumerate(sorted(keys, key=key))}
    tokens = [token._replace(rank=order.get(i, -1)) for i, token in enumerate(pool)]
    size = len(vocabulary.tokens)
    return replace(vocabulary, tokens=tokens[:size], hidden=tokens[size:])


# Whatever the rules of the pre-tokenizers tell apart, often side by side.
tricky = "abAB1st. '\t\n\r▁é日\u00a0\u3000\u0301"
PARTS = [
    "'s",
    "'S",
    "Ab",
    "/",
    "'ſ",
    ".\r\n",
    "'re",
    "'ll",
    "''",
    "  ",
    " \t",
    "\u00a0 ",
    "\n\u2003",
    "\u3000\u00a0",
    " ▁ ",
    "\n\n",
    "ß" * 40,
    "s" * 70,
    *tricky,
]


@functools.cache
def tricky_tokenizer(pretokenizer: str) -> Tokenizer:
    """Many tokens of any characters that may stand in one word, so that each bound shows."""
    generator = random.Random(8)
    lines = ["".join(generator.choices(PARTS, k=40)).replace("\n", "") for _ in range(150)]
    found = volt.candidates([lines], pretokenizer=pretokenizer, merges=600, min_frequency=1)
    vocabulary = build_vocabulary(found, range(len(found)))
    if ":" in pretokenizer:
        # There are words with line feeds, but none in a line: take CR for LF, and LF for CR.
        other = str.maketrans("čĊ", "Ċč")
        tokens = [token._replace(text=token.text.translate(other)) for token in vocabulary.tokens]
        vocabulary = replace(vocabulary, tokens=tokens)
    return Tokenizer(vocabulary, threads=1)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=150))
def test_words_are_cut_as_the_slow_twin_cuts_them(pretokenizer, parts):
    """Text of several blocks of 64 bytes, with characters that go from one to the next."""
    text = "".join(parts)
    tok = tricky_tokenizer(pretokenizer)
    assert tokens_of(tok, tok.encode(text)) == reference.encode.encode(text, tok.vocabulary)


@pytest.mark.filterwarnings("ignore:.*lines end in CR LF")
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
@given(parts=st.lists(st.sampled_from(PARTS), max_size=150))
def test_lines_of_a_file_are_cut_as_texts(tmp_path_factory, pretokenizer, parts):
    text = "".join(parts)
    tok = tricky_tokenizer(pretokenizer)
    path = tmp_path_factory.getbasetemp() / "lines"
    path.write_bytes(text.encode())
    lines = text.split("\n")
    ids, offsets = tok.encode_file(path, unit="line")
    expected = [tok.encode(line) for line in (lines if lines[-1] else lines[:-1])]
    assert ids.tolist() == [i for line in expected for i in line]
    assert np.diff(offsets).tolist() == [len(line) for line in expected]


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000\u0085", " \u00a0", "\u00a0\n"])
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_long_white_space_at_every_place_of_a_block(pretokenizer, space):
    """White space of several bytes may start in one block of 64 bytes and end in the next."""
    tok = tricky_tokenizer(pretokenizer)
    for before in range(56, 70):
        for after in ("Ab", "7", "!", "", " x"):
            text = "a" * before + space + after
            expected = reference.encode.encode(text, tok.vocabulary)
            assert tokens_of(tok, tok.encode(text)) == expected, (before, after)


def by_hand(merge_rule, hidden=()):
    """Letters, `bc` (first), `ab`, `abc` of `ab c`, `abcd` of `abc d`, and `▁`."""
    made = {"bc": ("b", "c"), "ab": ("a", "b"), "abc": ("ab", "c"), "abcd": ("abc", "d")}
    visible = ["<unk>", *"abcd▁", *(text for text in made if text not in hidden)]
    ids = {text: i for i, text in enumerate([*visible, *hidden])}
    ranks = {text: rank for rank, text in enumerate(made)}

    def token(text):
        if text not in made:
            return Token(text, "special" if text == "<unk>" else "character")
        left, right = made[text]
        return Token(text, "merged", (ids[left], ids[right]), ranks[text])

    return Vocabulary(
        WordRule(),
        [token(text) for text in visible],
        [token(text) for text in hidden],
        encoding="split" if hidden else "merge",
        merge_rule=merge_rule,
        unknown="unk",
    )


@pytest.mark.parametrize(
    ("merge_rule", "hidden", "expected"),
    [
        ("pairs", (), ["▁", "a", "bc", "d"]),
        ("concat", (), ["▁", "abcd"]),
        # `abc` was made of `a bc` here, not of its parents.
        ("concat", ("abc", "abcd"), ["▁", "a", "bc", "d"]),
        ("concat", ("abcd",), ["▁", "abc", "d"]),
        ("concat", ("bc", "abc", "abcd"), ["▁", "a", "b", "c", "d"]),
    ],
)
def test_the_two_rules_differ_where_a_token_can_be_reached_in_two_ways(
    merge_rule, hidden, expected
):
    vocabulary = by_hand(merge_rule, hidden)
    tok = Tokenizer(vocabulary)
    assert tokens_of(tok, tok.encode("abcd")) == expected
    assert reference.encode.encode("abcd", vocabulary) == expected
    for text in ("dabcabcd", "abcd" * 20, "bcd abc  abcd"):
        assert tokens_of(tok, tok.encode(text)) == reference.encode.encode(text, vocabulary)


@given(vocabularies(), some_letters | any_text, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
def test_dropout_draws_as_the_slow_twin(vocabulary, text, dropout):
    tok = Tokenizer(vocabulary, threads=1)
    for seed in (0, 7, 2**64 - 1):
        ids = tok.encode(text, dropout=dropout, seed=seed)
        expected = reference.encode.encode(text, vocabulary, dropout=dropout, seed=seed)
        assert tokens_of(tok, ids) == expected


@given(vocabularies(), st.lists(few_letters, max_size=6), st.booleans())
def test_special_tokens_and_symbols_equal_the_slow_twin(vocabulary, parts, everything):
    text = " ".join(parts) + "<s>" + "<a>".join(parts) + "</s><unk> <pad"
    tok = Tokenizer(vocabulary, threads=1)
    allowed = vocabulary.of_kind("special") if everything else ["<s>"]
    ids = tok.encode(text, allowed_special="all" if everything else allowed)
    expected = reference.encode.encode(text, vocabulary, allowed_special=allowed)
    assert tokens_of(tok, ids) == expected


# Names of a few letters that start and end like each other, some longer than what is walked along.
long_names = st.builds(
    lambda head, times, tail: "<" + head * times + tail,
    st.sampled_from(["a", "ab", "<a", "b<"]),
    st.integers(1, 60),
    st.sampled_from(["", "b", ">"]),
)


@given(
    st.sets(long_names, min_size=1, max_size=12),
    st.lists(long_names | few_letters | st.sampled_from(["<", "é", "<a" * 3000]), max_size=12),
    st.integers(0, 11),
)
@example({"<" + "<a" * 20 + "b", "<<a"}, ["<a" * 5000, "<" + "<a" * 20 + "b"], 11)
def test_long_names_are_found_as_by_the_slow_twin(names, parts, symbols):
    """The longest of those that start first, whatever they share; some are symbols, and of the
    special tokens every second one is allowed."""
    ordered = sorted(names)
    vocabulary = build_vocabulary(
        volt.candidates([["ab a"]]), [],
        symbols=ordered[:symbols], special=["<unk>", *ordered[symbols:]],
    )  # fmt: skip
    text = "".join(parts)
    tok = Tokenizer(vocabulary, threads=1)
    for allowed in (ordered[symbols:], ordered[symbols::2]):
        ids = tok.encode(text, allowed_special=allowed)
        expected = reference.encode.encode(text, vocabulary, allowed_special=allowed)
        assert tokens_of(tok, ids) == expected


@given(vocabularies())
def test_word_types_are_encoded_as_words(vocabulary):
    counts = volt.count(
        [["a b ab abc", "1.a aab b.b é"]], pretokenizer=vocabulary.rule.pretokenizer
    )
    tok = Tokenizer(vocabulary, threads=2)
    ids, offsets = tok.encode_words(counts)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.uint64)
    for w, word in enumerate(counts.words):
        symbols = reference.encode.spell_known(word, vocabulary)
        nodes = reference.encode.merge_symbols(symbols, vocabulary, iter(lambda: False, None))
        expected = [t for n in nodes for t in reference.encode.split(n, set(vocabulary.texts))]
        assert tokens_of(tok, ids[offsets[w] : offsets[w + 1]]) == expected


# ---------------------------------------------------------------------------------- real quantities


@pytest.fixture(scope="module")
def sample():
    """Made-up words with a Zipf-like tail; some longer than a slot, some from beyond ASCII."""
    generator = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"] + ["sch", "ing", "ß", "日", "дом"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 12))) for _ in range(3000)]
    return [
        " ".join(types[int(3000 * generator.random() ** 3)] for _ in range(9)) for _ in range(2500)
    ]


def learned(sample, pretokenizer, encoding="merge", **options):
    found = volt.candidates([sample], pretokenizer=pretokenizer, merges=2000, encoding=encoding)
    by_frequency = np.argsort(-found.frequency[found.alphabet_size :], kind="stable")[:700]
    return build_vocabulary(found, (by_frequency + found.alphabet_size).tolist(), **options)


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_threads_memory_and_block_bounds_change_nothing(
    sample, pretokenizer, tmp_path, monkeypatch
):
    vocabulary = learned(sample, pretokenizer)
    path = tmp_path / "text"
    for size, block, threads in (
        (2500, 1 << 24, 1),
        (2500, 1 << 24, 5),
        (2500, 70_000, 2),
        (100, 5000, 2),
        (20, 64, 2),
    ):
        lines = [*sample[:size], "", "  two  spaces ", "▁", "no line end"]
        path.write_text("\n".join(lines))
        one = Tokenizer(vocabulary, threads=1)
        expected = [one.encode(line) for line in lines]
        tok = Tokenizer(vocabulary, threads=threads)
        assert tok.encode_batch(lines) == expected
        assert tok.encode_batch(lines) == expected  # now from memory
        monkeypatch.setattr("volt.tokenizing.feeding.BLOCK", block)
        ids, offsets = tok.encode_file(path, unit="line")
        assert ids.tolist() == [i for line in expected for i in line]
        assert np.diff(offsets).tolist() == [len(line) for line in expected]


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_rarer_words_push_others_out_and_change_nothing(pretokenizer):
    """More different words than a worker remembers."""
    vocabulary = learned(["aab abb bab bba cab"] * 3, pretokenizer)
    tok = Tokenizer(vocabulary, threads=1)
    generator = random.Random(2)
    words = ["".join(generator.choices("abc", k=generator.randint(9, 24))) for _ in range(150_000)]
    once = tok.encode(" ".join(words))
    assert tok.encode(" ".join(words)) == once
    few = words[:500]
    fresh = Tokenizer(vocabulary, threads=1)
    assert [tok.encode(word) for word in few] == [fresh.encode(word) for word in few]


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_one_line_larger_than_all_blocks(sample, pretokenizer, tmp_path, monkeypatch):
    """It is cut between words only."""
    line = " ".join(sample) + " ▁ " + "x" * 5000 + " ende"
    path = tmp_path / "text"
    path.write_text(line)
    for symbols in ((), ("<2de>", "a b")):
        vocabulary = learned(sample, pretokenizer, symbols=symbols)
        expected = Tokenizer(vocabulary, threads=1).encode(line)
        for threads, block in ((1, 1 << 24), (2, 1000), (3, 300_000)):
            monkeypatch.setattr("volt.tokenizing.feeding.BLOCK", block)
            ids, offsets = Tokenizer(vocabulary, threads=threads).encode_file(path)
            assert ids.tolist() == expected
            assert offsets.tolist() == [0, len(expected)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_long_words_take_near_linear_time(sample, rule, encoding):
    vocabulary = learned([*sample, *(["aaaa", "aaaaaaaa"] * 5)], "metaspace", merge_rule=rule,
                         encoding=encoding)  # fmt: skip
    tok = Tokenizer(vocabulary)
    generator = random.Random(4)
    for word in (
        "a" * 200_000,
        "".join(generator.choices("abdefgiklmnoprst", k=200_000)),
        "".join(chr(0x4E00 + i) for i in range(20_000)) + "".join(map(chr, range(0xAC00, 0xD7A4))),
    ):
        started = time.process_time()  # not of the clock: the machine may have other work
        ids = tok.encode(word)
        assert time.process_time() - started < 5
        assert tok.decode(ids) == word


def test_dropout_depends_on_seed_and_line_alone(sample, tmp_path):
    vocabulary = learned(sample, "metaspace")
    path = tmp_path / "text"
    path.write_text("\n".join(sample) + "\n")
    runs = [
        Tokenizer(vocabulary, threads=threads).encode_file(path, dropout=0.1, seed=3)[0].tolist()
        for threads in (1, 2, 5)
    ]
    assert runs[0] == runs[1] == runs[2]
    tok = Tokenizer(vocabulary)
    batch = tok.encode_batch(sample, dropout=0.1, seed=3)
    assert [i for ids in batch for i in ids] == runs[0]
    assert tok.encode_batch(sample, dropout=0.1, seed=4) != batch
    assert tok.encode(sample[0], dropout=0.1, seed=3) == batch[0]
    assert tok.encode_batch([sample[0]] * 2, dropout=0.1, seed=3)[1] != batch[0]
    assert tok.decode_batch(batch) == sample
    assert tok.encode_batch(sample, dropout=0.0, seed=3) == tok.encode_batch(sample)
    letters = tok.encode(sample[0], dropout=1.0)
    assert [tok.tokens[i] for i in letters] == list("▁" + sample[0].replace(" ", "▁"))
    plain = sum(map(len, tok.encode_batch(sample)))
    tenth = sum(map(len, batch))
    half = sum(map(len, tok.encode_batch(sample, dropout=0.5)))
    assert plain < tenth < half


def test_python_threads_may_share_a_tokenizer(sample):
    from concurrent.futures import ThreadPoolExecutor

    tok = Tokenizer(learned(sample, "byte-level"), threads=2)
    expected = tok.encode_batch(sample)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tok.encode, sample)) == expected
        assert all(got == expected for got in pool.map(tok.encode_batch, [sample] * 4))


# ----------------------------------------------------------------------------- hostile vocabularies


PIECES = np.array([0, 3, 3, 5, 5], np.uint8)


def matching(encoding):
    return _core.Matching(encoding, False, 0, False, False, -9.0, 0.0, "kinds", False, True)


def native(**changes):
    """A small native encoder, with some arguments replaced."""

    u8, u32, u64 = np.uint8, np.uint32, np.uint64
    arguments = {
        "pretokenizer": "metaspace",
        "merge_rule": "concat",
        "text": np.frombuffer(b"?abababa", u8),
        "offsets": np.array([0, 1, 2, 3, 5, 8], u64),
        "kinds": np.array([0, 3, 3, 4, 4], u8),
        "marks": np.zeros(5, u8),
        "left": np.array([0, 0, 0, 1, 3], u32),
        "right": np.array([0, 0, 0, 2, 1], u32),
        "ranks": np.array([0, 0, 0, 5, 9], u64),
        "scores": np.zeros(5),
        "visible": 5,
        "unknown": 0,
        "fuse_unknown": False,
        "matching": matching("merge"),
        "pairs": np.zeros(0, u32),
    } | changes
    return _core.Encoder(**arguments)


def test_a_small_native_encoder_works():
    assert native().encode("aba", b"", 0.0, 0) == [0, 4]
    for encoding in ("longest", "unigram"):
        encoder = native(kinds=PIECES, matching=matching(encoding))
        assert encoder.encode("aba", b"", 0.0, 0) == ([0] if encoding == "longest" else [0, 4])
    later = np.array([0, 0, 0, 5, 4], np.uint64)  # a parent may have a higher rank
    assert native(ranks=later).encode("aba", b"", 0.0, 0) == [0, 4]
    with pytest.raises(ValueError, match="encoding"):
        matching("other")


@pytest.mark.parametrize(
    "changes",
    [
        {"pretokenizer": "other"},
        {"merge_rule": "other"},
        {"offsets": np.array([0, 1, 2, 3, 5, 99], np.uint64)},
        {"offsets": np.array([0, 9, 2, 3, 5, 8], np.uint64)},
        {"offsets": np.array([0, 1, 2, 3, 5], np.uint64)},
        {"offsets": np.array([0, 0, 2, 3, 5, 8], np.uint64)},
        {"kinds": np.array([0, 3, 3, 4, 9], np.uint8)},
        {"kinds": np.array([0, 3, 3, 3, 4], np.uint8)},
        {"kinds": np.array([0, 2, 3, 4, 4], np.uint8)},
        {"left": np.array([0, 0, 0, 1, 77], np.uint32)},
        {"left": np.array([0, 0, 0, 1, 4], np.uint32)},
        {"left": np.array([0, 0, 0, 0, 3], np.uint32)},
        {"text": np.frombuffer(b"?abababb", np.uint8)},
        {"text": np.frombuffer(b"?aaaaaaa", np.uint8)},
        {"text": np.frombuffer(b"?\xffbababa", np.uint8)},
        {"marks": np.array([0, 1, 0, 0, 0], np.uint8)},
        {"scores": np.zeros(4)},
        {"matching": matching("unigram")},
        {"kinds": np.array([0, 3, 3, 5, 5], np.uint8)},
        {"kinds": PIECES, "matching": matching("unigram"), "scores": np.full(5, np.nan)},
        {
            "kinds": PIECES,
            "matching": matching("longest"),
            "text": np.frombuffer(b"?abab\xffba", np.uint8),
        },
        {
            "kinds": PIECES,
            "matching": matching("longest"),
            "text": np.frombuffer(b"?aa" + b"a" * 5, np.uint8),
        },
        {"visible": 6},
        {"visible": 2},
        {"unknown": -1},
        {"unknown": 5},
        {"pretokenizer": "byte-level"},
    ],
)
def test_contradictions_are_refused_by_native_code(changes):
    with pytest.raises((ValueError, OverflowError)):
        native(**changes)


def test_masks_and_words_are_checked_by_native_code():
    encoder = native()
    with pytest.raises(ValueError):
        encoder.encode("a", b"\1", 0.0, 0)
    with pytest.raises(UnicodeEncodeError):
        encoder.encode("\ud800", b"", 0.0, 0)
    with pytest.raises(TypeError):
        encoder.encode_batch([b"a"], b"", 0.0, 0, 1)
    text = np.frombuffer("aé".encode(), np.uint8)
    for offsets in ([0, 2, 3], [0, 4, 3], [0, 0, 3], [1, 3], [0, 2], []):
        with pytest.raises(ValueError):
            encoder.encode_words(text, np.array(offsets, np.uint64), 1)
