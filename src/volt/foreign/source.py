"""The source `file:PATH`: the tokens of somebody's tokenizer as candidates."""

from __future__ import annotations

import hashlib
from pathlib import Path

import volt.proposing.sources  # noqa: F401, whose forms are named before this one
from volt.base.gate import named, read_bytes
from volt.base.shown import plural
from volt.counting.marks import Marks, converted
from volt.counting.words import WordRule
from volt.proposing.base import Candidates
from volt.proposing.proposal import SOURCES, Proposal, Source, SourceChoice
from volt.proposing.spelling import Spelling, piece_candidates
from volt.proposing.tokens import SPELLED


def propose(proposal: Proposal) -> Candidates:
    messages: list[str] = []

    def name_tokens(spelled: Spelling) -> list[str]:
        path = Path(proposal.source.path)
        texts, told = file_tokens(path, proposal.counts.rule, spelled.marks)
        messages.extend(told)
        return texts

    return piece_candidates(proposal, name_tokens, messages)


def file_tokens(path: Path, rule: WordRule, marks: Marks) -> tuple[list[str], list[str]]:
    """The token texts of another vocabulary, with the marks that they have here; and what to know.

    Only texts are taken. Tokens that the words of this corpus are cut inside of are left out.
    """
    from volt.foreign.original import read_tokenizer

    original = read_tokenizer(path, lists=True)
    vocabulary, messages = original.vocabulary, list(original.messages)
    theirs = vocabulary.marks
    texts = [text for token in vocabulary.of_kind(*SPELLED)
             for text in converted(token, theirs, marks)]  # fmt: skip
    whole = [text for text in texts if not rule.mode.cuts_inside(text)]
    if len(whole) < len(texts):
        messages.append(
            f"left out of {path.name}: {plural(len(texts) - len(whole), 'token')} across two words "
            "of this text"
        )
    return whole, messages


def content_name(source: SourceChoice) -> str:
    """A source and its number, or the content of its file, which is not named by its path."""
    if not source.path:
        return f"{source.name}-{source.number}"
    path = named(source.path)
    if (path / "volt.json").exists():
        path = path / "volt.json"
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(read_bytes(file))
    return f"{source.name}-{digest.hexdigest()[:8]}"


SOURCES.register(
    Source(
        "file",
        "the file's tokens",
        "The tokens of a tokenizer that exists, in any format that volt reads.",
        ("unigram", "longest"),
        propose,
    )
)
