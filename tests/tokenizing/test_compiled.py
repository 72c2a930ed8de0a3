"""The compiled cache: the same tokenizer with and without it, and no harm from a bad one."""

import hashlib
import os
import pickle
import stat
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import rows_with
from vocabularies import bert_vocabulary, scored

import volt
from volt.base.errors import VoltError
from volt.base.manifest import read_manifest
from volt.base.output import atomic_folder
from volt.tokenizing import compiled
from volt.tokenizing.volt_json import load_vocabulary

LOW = ["low lower lowest newest widest", "low new wide <2de>"] * 3
TEXTS = ["", "low  lowest <2de>", "newer é 日本 \U0001f9ff\n", "wider<s>low"]


def learned(**options):
    return volt.learn(
        [LOW], sizes=rows_with(LOW, 2, 5, 9, symbols=("<2de>",), **options), symbols=["<2de>"],
        criterion="muv", **options,
    ).vocabulary  # fmt: skip


VOCABULARIES = {
    "pairs": lambda: replace(learned(pretokenizer="byte-level"), merge_rule="pairs", self_test=[]),
    "concat": lambda: learned(pretokenizer="metaspace"),
    "split": lambda: learned(pretokenizer="whitespace", encoding="split"),
    "unigram": lambda: scored(LOW, 7, "metaspace", "byte"),
    "longest": bert_vocabulary,
}


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(compiled, "SMALLEST", 1)


@pytest.fixture
def folder(tmp_path):
    with atomic_folder(tmp_path / "m") as draft:
        learned(pretokenizer="metaspace").save(draft / "volt.json")
    return tmp_path / "m"


def cache_of(data, vocabulary):
    """The cache of a volt.json with these bytes."""
    return b"".join(compiled.compiled_parts(compiled.digest([data]), vocabulary))


def is_used(folder):
    return isinstance(load_vocabulary(folder).tokens, compiled.StoredTokens)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_cache_changes_nothing(name, tmp_path):
    vocabulary = VOCABULARIES[name]()
    vocabulary.save(tmp_path / "volt.json")
    assert is_used(tmp_path)
    tokenizer, other = volt.load(tmp_path), volt.Tokenizer(vocabulary)
    for text in TEXTS:
        ids = other.encode(text, allowed_special="all")
        assert tokenizer.encode(text, allowed_special="all") == ids
        assert tokenizer.decode(ids) == other.decode(ids)
    assert tokenizer.tokens == other.tokens
    assert tokenizer.special_ids == other.special_ids
    assert tokenizer.vocabulary.tokens == vocabulary.tokens
    assert tokenizer.vocabulary.hidden == vocabulary.hidden
    assert tokenizer.vocabulary.to_bytes() == vocabulary.to_bytes()
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode(TEXTS[1]) == tokenizer.encode(TEXTS[1])
    raised = tokenizer.vocabulary.with_frequencies(np.arange(len(tokenizer)))
    assert raised.tokens[1].frequency == 1
    assert raised.texts == vocabulary.texts


def test_the_same_vocabulary_gives_the_same_cache(folder, tmp_path):
    (tmp_path / "other").mkdir()
    load_vocabulary(folder).save(tmp_path / "other" / "volt.json")
    assert (tmp_path / "other" / "volt.cache").read_bytes() == (folder / "volt.cache").read_bytes()


def test_it_is_one_of_the_files_of_its_folder(folder):
    assert "volt.cache" in read_manifest(folder).files
    with atomic_folder(folder, force=True) as draft:
        (draft / "volt.json").write_text("{}")
    assert not (folder / "volt.cache").exists()


def test_a_small_vocabulary_needs_none(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "SMALLEST", 1000)
    learned(pretokenizer="metaspace").save(tmp_path / "volt.json")
    assert [*tmp_path.iterdir()] == [tmp_path / "volt.json"]


def changed_byte(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES = {
    "missing": lambda data: None,
    "empty": lambda data: b"",
    "no columns": lambda data: data[: compiled.START],
    "cut short": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "a bit of the checksum": lambda data: changed_byte(data, 20),
    "a bit of the other file's checksum": lambda data: changed_byte(data, 60),
    "a bit of the header": lambda data: changed_byte(data, compiled.START + 30),
    "a bit of the columns": lambda data: changed_byte(data, len(data) - 9),
    "another format": lambda data: changed_byte(data, len(compiled.MAGIC) - 1),
    "another version of volt": lambda data: sealed(
        data[48:].replace(compiled.__version__.encode(), b"9" * len(compiled.__version__))
    ),
}


def sealed(rest):
    """A cache whose checksum is right."""
    return compiled.MAGIC + hashlib.sha256(rest).digest() + rest


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_ignored_and_written_again(damage, folder):
    file = folder / "volt.cache"
    good, ids = file.read_bytes(), volt.load(folder).encode("low lowest")
    file.unlink()
    if (bad := DAMAGES[damage](good)) is not None:
        file.write_bytes(bad)
    assert compiled.read_compiled(folder / "volt.json", (folder / "volt.json").read_bytes()) is None
    assert volt.load(folder).encode("low lowest") == ids
    assert file.read_bytes() == good
    assert is_used(folder)


def test_a_cache_of_another_vocabulary_is_ignored_and_written_again(folder):
    other = learned(pretokenizer="byte-level")
    before = (folder / "volt.cache").read_bytes()
    (folder / "volt.json").write_bytes(other.to_bytes())
    assert volt.load(folder).tokens == other.texts
    assert (folder / "volt.cache").read_bytes() != before
    assert is_used(folder)


def test_nothing_appears_where_volt_did_not_write(folder, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "volt.json").write_bytes((folder / "volt.json").read_bytes())
    volt.load(tmp_path / "copy")
    volt.load(tmp_path / "copy" / "volt.json")
    assert [one.name for one in (tmp_path / "copy").iterdir()] == ["volt.json"]


def test_a_file_of_that_name_that_is_not_a_cache_stays(tmp_path):
    (tmp_path / "volt.cache").write_text("mine")
    learned(pretokenizer="metaspace").save(tmp_path / "volt.json")
    assert volt.load(tmp_path).encode("low")
    assert (tmp_path / "volt.cache").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_of_that_name_does_not_hang(folder):
    (folder / "volt.cache").unlink()
    os.mkfifo(folder / "volt.cache")
    assert volt.load(folder).encode("low")
    assert stat.S_ISFIFO((folder / "volt.cache").stat().st_mode)


def test_a_folder_that_can_not_be_written_is_read(folder, monkeypatch):
    """Also for root, who may write anywhere: writing fails as it would on a read-only disk."""
    (folder / "volt.cache").unlink()

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("volt.base.output.new_draft", refuse)
    assert volt.load(folder).encode("low")
    assert not (folder / "volt.cache").exists()


def test_a_forged_cache_that_contradicts_itself_is_not_used(folder):
    """Right checksums, and columns that no vocabulary has."""
    ids = volt.load(folder).encode("low lowest")
    good = load_vocabulary(folder, compiled=False)
    data = (folder / "volt.json").read_bytes()
    for column, wrong in {"offsets": 7, "flags": 9, "text": 200, "pairs": 10**6}.items():
        vocabulary = replace(good)
        native = good.native
        if column == "pairs":
            native = replace(native, pairs=good.encoder.pairs())
        array = getattr(native, column).copy()
        array[len(array) // 2] = wrong
        vocabulary.__dict__["native"] = replace(native, **{column: array})
        pairs = array if column == "pairs" else good.encoder.pairs()
        vocabulary.__dict__["encoder"] = SimpleNamespace(pairs=lambda pairs=pairs: pairs)
        (folder / "volt.cache").write_bytes(cache_of(data, vocabulary))
        assert volt.load(folder).encode("low lowest") == ids


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_under_a_right_checksum_does_no_harm(folder, data):
    """It is refused, or used as what it says; the program goes on."""
    file = folder / "volt.cache"
    known = Path(folder, "volt.json").read_bytes()
    rest = bytearray(cache_of(known, load_vocabulary(folder, compiled=False))[48:])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(32, len(rest) - 1))
        rest[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del rest[data.draw(st.integers(40, len(rest) - 1)) :]
    file.write_bytes(sealed(bytes(rest)))
    try:
        tokenizer = volt.load(folder)
        tokenizer.encode("low lowest <2de> é", allowed_special="all")
        tokenizer.decode(range(len(tokenizer)))
        assert len(tokenizer.tokens) == len(tokenizer)
    except VoltError:
        pass
