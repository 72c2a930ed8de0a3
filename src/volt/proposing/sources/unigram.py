"""Unigram: the pieces that SentencePiece's Unigram trainer keeps."""

from __future__ import annotations

import io

from volt.base.errors import InputError
from volt.base.extras import need
from volt.counting.marks import END_MARK, INNER, WORD_END, Marks, byte_letters
from volt.proposing.base import Candidates
from volt.proposing.proposal import Proposal, Source
from volt.proposing.spelling import Spelling, marked_again, piece_candidates

LONGEST_PIECE = 16
"""The longest piece in characters, unless another length is asked for."""
RESERVED = "\t\n\r\0\u2585"
"""Characters that the trainer does not take for text."""


def propose(proposal: Proposal) -> Candidates:
    def pieces(spelled: Spelling) -> list[str]:
        with proposal.progress.stage("Training Unigram", 1, "models") as report:
            found = unigram_pieces(proposal, spelled.marks)
            report(1)
        return found

    return piece_candidates(proposal, pieces)


def unigram_pieces(proposal: Proposal, marks: Marks) -> list[str]:
    """The pieces of SentencePiece's Unigram trainer (seed and EM), over the words with their
    counts."""
    counts, number = proposal.counts, proposal.number
    sentencepiece = need("sentencepiece", "sentencepiece")
    write = byte_letters if counts.rule.mode.byte_level else bytes.decode
    words = [write(word) for word in counts.word_bytes()]
    letters = set().union(*words)
    # One letter that the text does not have stands for the mark, which the trainer would cut.
    final = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in letters)
    ending = final if marks is WORD_END else ""
    lines = [
        f"{word}{ending}\t{count}"
        for word, count in zip(words, counts.counts.tolist(), strict=True)
        if not any(c in word for c in RESERVED)
    ]
    if not lines:
        raise InputError("the text has no word that SentencePiece can be trained on")
    longest = proposal.max_token_length or LONGEST_PIECE
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), input_format="tsv", model_writer=model,
            model_type="unigram", vocab_size=number + len(letters) + 2, hard_vocab_limit=False,
            character_coverage=1.0, normalization_rule_name="identity", add_dummy_prefix=False,
            remove_extra_whitespaces=False, split_by_whitespace=False,
            split_by_unicode_script=False, split_by_number=False, allow_whitespace_only_pieces=True,
            max_sentencepiece_length=longest, max_sentence_length=1 << 30, bos_id=-1, eos_id=-1,
            num_threads=1, minloglevel=2,
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise InputError(f"SentencePiece can't train on these words: {error}") from None
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [trained.id_to_piece(i) for i in range(len(trained)) if not trained.is_unknown(i)]
    texts = [piece.replace(final, END_MARK) if ending else piece for piece in pieces]
    long = [text for text in marked_again(texts, marks) if len(marks.symbols(text)) > 1]
    return long if marks is INNER else long[:number]


SOURCE = Source(
    "unigram",
    "Unigram candidates",
    "The pieces of SentencePiece's Unigram trainer (seed and EM).",
    ("unigram", "longest"),
    propose,
    100_000,
)
