"""A vocabulary file is read as it was written; a damaged or hostile one is refused in words."""

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import rows_with

import volt
from volt import reference
from volt.base.errors import InputError, VoltError
from volt.proposing.tokens import KINDS, Token, Tokens
from volt.tokenizing.loading import load
from volt.tokenizing.volt_json import _columns, _Reader, _token_rows, load_vocabulary

LOW = ["low lower lowest newest widest", "low new wide"] * 3
GOOD = [
    json.loads(
        volt.learn(
            [LOW], sizes=rows_with(LOW, 2, 5, 9, pretokenizer=pretokenizer, symbols=("<2de>",)),
            symbols=["<2de>"], pretokenizer=pretokenizer, encoding=encoding, criterion="muv",
        ).vocabulary.to_json()
    )
    for pretokenizer, encoding in [("whitespace", "merge"), ("metaspace", "split")]
]  # fmt: skip


def load_data(data):
    """Load it from a file, and use it: encode, check its self-test, write it again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "volt.json")
        if not isinstance(data, (str, bytes)):
            data = json.dumps(data)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        tokenizer = load(path)
        tokenizer.encode("low lowest é \U0001f9ff <2de>")
        tokenizer.vocabulary.to_json().encode()
        return tokenizer.vocabulary


def edited(data, path, value):
    """A copy of the data with one place changed; `...` deletes it."""
    copy = json.loads(json.dumps(data))
    inner = copy
    for step in path[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


def places(data, path=()):
    """Every place in the data, and what is there."""
    if path:
        yield path, data
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key), value


def first_merged(data, field=None):
    number = next(i for i, token in enumerate(data["tokens"]) if token["kind"] == "merged")
    return ("tokens", number, field) if field else number


def test_the_files_to_be_damaged_are_good():
    for data in GOOD:
        assert json.loads(load_data(data).to_json()) == data
    assert GOOD[1]["hidden"]


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), 9, "format: 9; this volt reads up to 5"),
        (("format",), ..., "format: missing"),
        (("format",), True, "format: True is not a whole number"),
        (("pretokenizer",), "gpt", "pretokenizer: 'gpt' is not one of"),
        (("normalize",), None, "normalize: None is not one of"),
        (("max_word_length",), -1, "max_word_length: -1 is not a whole number"),
        (("encoding",), "greedy", "encoding: 'greedy' is not one of merge, split"),
        (("merge_rule",), [], "merge_rule"),
        (("unknown",), "byte", "0 byte tokens, 256 expected"),
        (("unit",), 0, "unit: 0 is not a whole number from 1"),
        (("size",), 10**9, "size: 1000000000, but there are"),
        (("size",), 1 << 64, "size: .* is not a whole number"),
        (("signature",), "\ud800", "signature"),
        (("tokens",), {}, "tokens: {} is not a list"),
        (("tokens",), [], "size: "),
        (("tokens", 0), 5, r"tokens\[0\]: 5 is not a table"),
        (("tokens", 0, "id"), 1, r"tokens\[0\].id: 1 where 0 comes next"),
        (("tokens", 0, "text"), "", r"tokens\[0\].text: empty"),
        (("tokens", 0, "text"), "<s>", r"tokens\[1\].text: '<s>' is there twice"),
        (("tokens", 0, "text"), "\udc00", r"tokens\[0\].text: a lone surrogate"),
        (("tokens", 0, "kind"), "magic", r"tokens\[0\].kind: 'magic' is not one of"),
        (("tokens", 0, "rank"), 4, r"tokens\[0\]: a special token with parents or a rank"),
        (("tokens", 0, "frequency"), -1, r"tokens\[0\].frequency: -1 is not a whole number"),
        (("tokens", 0, "frequency"), 1.5, r"tokens\[0\].frequency: 1.5 is not a whole number"),
        (("tokens", 5, "text"), "ab", r"tokens\[5\].text: 'ab' is not a character"),
        (first_merged(GOOD[0], "parents"), [0, 1], "token 0 does not merge"),
        (first_merged(GOOD[0], "parents"), [10**6, 7], "there is no token 1000000"),
        (first_merged(GOOD[0], "parents"), [-1, 7], "-1 is not a whole number"),
        (first_merged(GOOD[0], "parents"), [7], "is not a list of 2"),
        (first_merged(GOOD[0], "parents"), [True, 7], "True is not a whole number"),
        (first_merged(GOOD[0], "parents"), [6, 6], "is not its parents joined"),
        (
            first_merged(GOOD[0], "parents"),
            [first_merged(GOOD[0])] * 2,
            "is not its parents joined",
        ),
        (first_merged(GOOD[0], "parents"), ..., "parents: missing"),
        (first_merged(GOOD[0], "rank"), 1, "rank: 1 is there twice"),
        (first_merged(GOOD[0], "text"), "xyz", "'xyz' is not its parents joined"),
        (first_merged(GOOD[0], "scaffold"), 1, "scaffold: 1 is not true or false"),
        (("unreachable",), [10**6], "unreachable: an id that is not a token"),
        (("self_test", 3, "ids"), [10**6], r"self_test\[3\].ids: an id that is not a token"),
        (("self_test", 3, "ids"), [0], r"self_test\[3\]: .* is encoded as"),
        (("self_test", 3, "text"), 4, r"self_test\[3\].text: 4 is not text"),
        (("hidden",), [GOOD[0]["tokens"][0]], r"hidden\[0\].id"),
    ],
)
def test_a_damaged_field_is_named(path, value, words):
    with pytest.raises(InputError, match=words):
        load_data(edited(GOOD[0], path, value))


def test_parents_that_go_round_in_circles_are_refused():
    data = json.loads(json.dumps(GOOD[0]))
    a = first_merged(data)
    for first, second in ((a, a + 1), (a + 1, a)):
        data["tokens"][first]["parents"] = [second, second]
    with pytest.raises(InputError, match="is not its parents joined"):
        load_data(data)


def test_a_file_cut_short_anywhere_is_refused():
    text = json.dumps(GOOD[0], ensure_ascii=False).encode()
    for end in range(0, len(text), max(1, len(text) // 150)):
        with pytest.raises(InputError, match=r"is not JSON|invalid UTF-8"):
            load_data(text[:end])


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"3", b"[]", b"{}", b'"text"', b"[" * 100_000, b'{"format": 1' + b"0" * 9999,
        b'{"format": NaN}', b'{"format": 1e999}', b"\xff\xfe", b"\x00" * 10, b'{"format":1}',
        b'{"a":' * 5000,
    ],
)  # fmt: skip
def test_what_is_no_vocabulary_at_all_is_refused(data):
    with pytest.raises(InputError):
        load_data(data)


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path, tmp_path / "missing", tmp_path / "missing" / "volt.json"):
        with pytest.raises(InputError, match=r"no such vocabulary|has no volt.json"):
            load_vocabulary(path)


def test_a_folder_of_two_sides_is_not_one_vocabulary(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "volt.json").write_text("{}")
    for read in (load_vocabulary, volt.import_vocabulary):
        with pytest.raises(InputError, match=r"for each side; name .*source or .*target"):
            read(tmp_path)


def test_a_vocabulary_of_volt_is_not_imported(tmp_path):
    (tmp_path / "volt.json").write_text("{}")
    for path in (tmp_path, tmp_path / "volt.json"):
        with pytest.raises(InputError, match="this is a vocabulary of volt"):
            volt.import_vocabulary(path)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 40),
    st.sampled_from([10**9, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**70)]),
    st.floats(),
    st.sampled_from(["", "a", "low", "</w>", "a</w>", "<unk>", "<0x00>", "▁", "\ud800", "\x00"]),
    st.sampled_from(["special", "symbol", "byte", "character", "merged", "pairs", "concat"]),
    st.sampled_from(["whitespace", "metaspace", "byte-level", "split", "merge", "nfkc", "unk"]),
    st.lists(st.integers(-1, 60), max_size=3),
    st.just({}),
    st.just(...),
)


@settings(max_examples=250)
@given(st.sampled_from(GOOD), st.lists(st.tuples(st.randoms(), values), min_size=1, max_size=3))
def test_any_field_of_any_type_gives_a_volterror_or_a_vocabulary_that_works(data, changes):
    for generator, value in changes:
        fields = list(places(data))
        path, _ = generator.choice(fields)
        data = edited(data, path, value)
    try:
        load_data(data)
    except VoltError as error:
        assert "volt.json" in str(error) or "vocabulary" in str(error)


@settings(max_examples=250)
@given(st.sampled_from(GOOD), st.randoms(), values)
def test_tokens_read_at_once_are_those_read_one_by_one(data, generator, value):
    rows = json.loads(json.dumps(data["tokens"]))
    key = generator.choice(["id", "text", "kind", "parents", "rank", "scaffold", "score", "more"])
    generator.choice(rows)[key] = value
    scored = data["encoding"] == "unigram"
    try:
        at_once = _columns(rows, 0, scored)
    except (KeyError, TypeError, ValueError, OverflowError):
        return  # then they are read one by one
    assert at_once == [_Reader("", {})._token("", row, i, scored) for i, row in enumerate(rows)]


@settings(max_examples=100)
@given(st.sampled_from(GOOD), st.randoms(), st.lists(st.binary(max_size=3), min_size=1, max_size=3))
def test_any_bytes_give_a_volterror_or_a_vocabulary_that_works(data, generator, pieces):
    text = bytearray(json.dumps(data, ensure_ascii=False).encode())
    for piece in pieces:
        at = generator.randrange(len(text))
        text[at : at + generator.randrange(4)] = piece
    with contextlib.suppress(VoltError):
        load_data(bytes(text))


tokens_to_write = st.lists(
    st.builds(
        Token,
        text=st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        kind=st.sampled_from(KINDS),
        parents=st.none() | st.tuples(st.integers(0, 2**40), st.integers(0, 2**40)),
        rank=st.integers(0, 2**62),
        scaffold=st.booleans(),
        frequency=st.integers(0, 2**63 - 1),
        score=st.floats(allow_nan=False, allow_infinity=False),
    ),
    max_size=4,
)


@given(tokens_to_write, st.booleans())
@example([Token("".join(map(chr, range(0x80))) + '\\"é\U0001f9ff', "symbol")], False)
def test_tokens_are_written_as_json_writes_them(tokens, scored):
    written = _token_rows(Tokens.of(tokens), 0, scored)
    assert written.decode() == reference.volt_json.token_rows(tokens, scored)
