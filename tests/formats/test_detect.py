"""What a file is, decided by its content."""

import pytest

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
