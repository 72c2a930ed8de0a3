"""What a file is, decided by its content."""

import pytest

import volt
from volt.base.errors import InputError
from volt.formats.detect import identify


def test_the_list_beside_a_sentencepiece_model_is_called_that(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    for kind in ("bpe", "unigram"):
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["low lower lowest newer wide day"] * 50), minloglevel=2,
            model_prefix=str(tmp_path / kind), model_type=kind, vocab_size=30,
            hard_vocab_limit=False,
        )  # fmt: skip
        with pytest.raises(InputError, match=rf"SentencePiece model.*name {kind}\.model, which is"):
            identify(tmp_path / f"{kind}.vocab")
        (tmp_path / f"{kind}.model").unlink()
        with pytest.raises(InputError, match=r"for people to read; .* name the \.model"):
            identify(tmp_path / f"{kind}.vocab")


def test_a_dictionary_does_not_list_what_fairseq_adds(tmp_path):
    (tmp_path / "dict.txt").write_text("<unk> 0\nthe 12\n")
    with pytest.raises(volt.InputError, match=r"line 1: '<unk>' is a token that fairseq adds by"):
        volt.import_vocabulary(tmp_path / "dict.txt")
    (tmp_path / "dict.txt").write_text("▁the 12\n▁the 12\n", encoding="utf-8")
    with pytest.raises(volt.InputError, match=r"line 2: '▁the' is there already"):
        volt.import_vocabulary(tmp_path / "dict.txt")


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json"])
def test_settings_are_not_a_tokenizer(name, tmp_path):
    (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="settings, not a tokenizer: name the folder"):
        identify(tmp_path / name)


@pytest.mark.parametrize(
    ("there", "missing"), [("vocab.json", "merges.txt"), ("vocab.bpe", "encoder.json")]
)
def test_the_file_that_is_missing_is_named(there, missing, tmp_path):
    (tmp_path / there).write_text('{"a": 0}')
    with pytest.raises(InputError, match=f"{missing} is missing, which belongs to {there}"):
        identify(tmp_path)
