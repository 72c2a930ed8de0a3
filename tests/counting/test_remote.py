"""Remote files through fsspec, tried with its memory and its local file system."""

import json
import sys

import pytest

import volt

fsspec = pytest.importorskip("fsspec")
DOCUMENTS = ["low lower lowest", "new newer\nnewest"] * 3


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    lines = "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS).encode()
    system.pipe("/corpus/a.jsonl", lines)
    system.pipe("/corpus/b/plain.txt", "\n".join(DOCUMENTS).encode())
    system.pipe("/corpus/b/.hidden", b"\xff")
    yield system
    system.rm("/corpus", recursive=True)


def test_files_folders_and_patterns(memory, tmp_path):
    expected = volt.count(volt.Texts(DOCUMENTS))
    for url in (
        "memory://corpus/a.jsonl",
        "memory://corpus/b/plain.txt",
        "memory://corpus/*.jsonl",
    ):
        assert volt.count(url).digest() == expected.digest()
    both = volt.count(["memory://corpus/a.jsonl", "memory://corpus/b"])
    assert both.digest() == volt.count("memory://corpus").digest()
    assert volt.count("memory://corpus", glob="*.txt").digest() == expected.digest()
    doubled = volt.count("memory://corpus/a.jsonl:2.0")
    assert doubled.totals.words == 2 * expected.totals.words
    (tmp_path / "a.txt").write_text("\n".join(DOCUMENTS))
    assert volt.count(f"file://{tmp_path}/a.txt").digest() == expected.digest()


def test_what_is_not_there_and_unknown_systems(memory):
    with pytest.raises(volt.InputError, match=r"no such file: memory://corpus/none"):
        volt.count("memory://corpus/none")
    with pytest.raises(volt.InputError, match=r"cannot read nosuch://x: .*nosuch"):
        volt.count("nosuch://x")


def test_without_fsspec_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(volt.SettingsError, match=r"fsspec: pip install 'volt-vocab\[remote\]'"):
        volt.count("s3://bucket/train.txt")
