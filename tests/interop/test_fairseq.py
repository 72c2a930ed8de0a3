"""fairseq's own `Dictionary` loads what volt writes, and gives every token its id.

fairseq 0.12.2, the last release, can't be imported with Python 3.11 or later. Its dictionary can,
without the package around it: the files are found where fairseq is installed or unpacked.
"""

import importlib
import importlib.util
import sys
import types
from pathlib import Path

import pytest
from samples import learned, sample_lines, tokenizer_of

import volt

torch = pytest.importorskip("torch")
pytest.importorskip("subword_nmt")


@pytest.fixture
def dictionary_class(monkeypatch):
    found = importlib.util.find_spec("fairseq")
    if found is None or found.origin is None:
        pytest.skip("fairseq is not there: make large")
    root = Path(found.origin).parent
    for name in [name for name in sys.modules if name.split(".")[0] == "fairseq"]:
        monkeypatch.delitem(sys.modules, name)

    def module(name, path=None, **content):
        made = types.ModuleType(name)
        made.__dict__.update(content)
        if path is not None:
            made.__path__ = [str(path)]
        monkeypatch.setitem(sys.modules, name, made)
        return made

    utils = module("fairseq.utils", item=int)
    data_utils = module("fairseq.data.data_utils", post_process=lambda text, symbol: text)
    module("fairseq", root, utils=utils)
    module("fairseq.data", root / "data", data_utils=data_utils)
    yield importlib.import_module("fairseq.data.dictionary").Dictionary
    for name in [name for name in sys.modules if name.split(".")[0] == "fairseq"]:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level"])
def test_lines_of_volt_encode(dictionary_class, pretokenizer, tmp_path):
    vocabulary = learned(pretokenizer)
    (path,) = volt.export(vocabulary, "fairseq", tmp_path / "dict.txt").files
    peer = dictionary_class.load(str(path))
    assert len(peer) == len(vocabulary)
    tok = tokenizer_of(vocabulary)
    assert set(peer.symbols) == set(tok.printed)
    written = b"".join(tok.encode_to_text([sample_lines()])).decode().split("\n")[:-1]
    for line, text in zip(written, sample_lines(), strict=True):
        ids = peer.encode_line(line, add_if_not_exist=False)
        assert [peer[i] for i in ids[:-1]] == [tok.printed[i] for i in tok.encode(text)]
        assert ids[-1] == peer.eos()
        if not tok.vocabulary.unknown_id or tok.vocabulary.unknown_id not in tok.encode(text):
            assert peer.unk() not in ids.tolist()


def test_text_that_subword_nmt_cuts_by_the_codes(dictionary_class, tmp_path):
    """As fairseq does with `--bpe subword_nmt --bpe-codes dict.codes`."""
    from subword_nmt import apply_bpe

    vocabulary = learned("whitespace")
    path, codes, _ = volt.export(vocabulary, "fairseq", tmp_path / "dict.txt").files
    peer = dictionary_class.load(str(path))
    with codes.open(encoding="utf-8") as stream:
        bpe = apply_bpe.BPE(stream)
    tok = tokenizer_of(vocabulary)
    seen = []
    for line in sample_lines():
        own = tok.encode(line)
        if vocabulary.unknown_id in own or line.split(" ") != line.split():
            continue  # subword-nmt leaves unknown characters as they are, and cuts at spaces only
        ids = peer.encode_line(bpe.process_line(line), add_if_not_exist=False).tolist()
        assert peer.unk() not in ids
        assert len(ids) == len(own) + 1
        seen += zip(ids[:-1], own, strict=True)
        assert peer.string(ids).replace("@@ ", "") == tok.decode(own)
    assert len(seen) > 5000
    # The ids of fairseq are those of the file: one for every id of volt, always the same.
    assert len({*seen}) == len({theirs for theirs, _ in seen}) == len({ours for _, ours in seen})
