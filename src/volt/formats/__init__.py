"""Files of other toolkits: one module a format, with `write` and `read`.

>>> import volt
>>> sorted(volt.formats.FORMATS)
['fairseq', 'gpt2', 'hf', 'marian', 'sentencepiece', 'subword-nmt', 'text', 'tiktoken']
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from volt.base.checks import check_choice
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_write
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.counting.words import MergeRule
from volt.formats import (
    fairseq,
    gpt2,
    huggingface,
    marian,
    sentencepiece,
    subword_nmt,
    text,
    tiktoken,
)
from volt.formats.assembly import Pieces, assemble, has_exact_scores, read_bytes
from volt.formats.merges import (
    Check,
    check_delayed,
    check_rule,
    delayed_tokens,
    differing_tokens,
    overlapping_tokens,
)
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import check_sides


@dataclass(frozen=True)
class Format:
    """How a format is written and read, and how its toolkit merges."""

    toolkit: str
    write: Callable[[Vocabulary, Path], dict[Path, bytes]]
    read: Callable[[Path], Pieces]
    merge_rule: MergeRule | None = None
    """None: the file has no merges."""
    one_pair_at_a_time: bool = False
    """Merges all places of a pair before it looks for the next (subword-nmt)."""
    names: tuple[str, ...] = ()
    """What the files are called, or how they end, where that tells."""


FORMATS = {
    "hf": Format("Hugging Face", huggingface.write, huggingface.read, "pairs",
                 names=("tokenizer.json",)),
    "sentencepiece": Format("SentencePiece", sentencepiece.write, sentencepiece.read, "concat",
                            names=(".model",)),
    "subword-nmt": Format("subword-nmt", subword_nmt.write, subword_nmt.read, "pairs",
                          one_pair_at_a_time=True),
    "gpt2": Format("GPT-2", gpt2.write, gpt2.read, "pairs", names=("vocab.json", "merges.txt")),
    "tiktoken": Format("tiktoken", tiktoken.write, tiktoken.read, "concat", names=(".tiktoken",)),
    "fairseq": Format("fairseq", fairseq.write, fairseq.read, names=("dict.txt",)),
    "marian": Format("Marian", marian.write, marian.read, names=(".yml", ".yaml")),
    "text": Format("a word list", text.write, text.read),
}  # fmt: skip


@dataclass(frozen=True)
class ExportResult:
    """What was written, and what to know about it."""

    files: list[Path]
    messages: list[str] = field(default_factory=list)
    check: Check | None = None
    """Words of the text given that the toolkit encodes otherwise; None if its rule is the same, or
    if there is no text."""

    def summary(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "files": [str(file) for file in self.files],
            "messages": self.messages,
            "check": None if self.check is None else asdict(self.check),
        }


def export(
    vocabulary: Vocabulary,
    to: str,
    path: str | os.PathLike[str],
    *,
    check: WordCounts | Text | Iterable[Text] | None = None,
) -> ExportResult:
    """Write a vocabulary in the format of another toolkit; `FORMATS` has the names.

    Where the toolkit may merge otherwise than the vocabulary, words of the text `check` are encoded
    both ways, and the result says how many differ.
    """
    check_choice("to", to, tuple(FORMATS))
    form = FORMATS[to]
    files = form.write(vocabulary, Path(path))
    counts = None
    if check is not None and form.merge_rule is not None and vocabulary.look_up is None:
        rule = vocabulary.rule
        counts = (
            check if isinstance(check, WordCounts)
            else count(check, pretokenizer=rule.pretokenizer, normalize=rule.normalize)
        )  # fmt: skip
    messages, found = _compare(vocabulary, form, counts)
    with ExitStack() as written:  # all of them, before the first takes its name
        for file, data in files.items():
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"cannot write {file}: {error.strerror or error}") from error
            stream = written.enter_context(atomic_write(file))
            stream.write(data)
            stream.flush()
    return ExportResult(list(files), messages, found)


def _compare(
    vocabulary: Vocabulary, form: Format, counts: WordCounts | None
) -> tuple[list[str], Check | None]:
    """Where the toolkit encodes otherwise than volt (METHOD 6)."""
    messages: list[str] = []
    found: Check | None = None
    mine, theirs = vocabulary.merge_rule, form.merge_rule
    if vocabulary.look_up is not None:
        return _compare_look_up(vocabulary, form), None
    if theirs is None and vocabulary.hidden:
        messages.append("tokens only: what is merged on the way (split encoding) is not there")
    elif theirs == "concat" and mine == "pairs":
        found = None if counts is None else check_rule(vocabulary, counts, "concat")
        if other := differing_tokens(vocabulary):
            reason = (
                f"{form.toolkit} merges {len(other):,} tokens, such as {other[0]!r}, from another "
                "pair than they were learned from (rule concat)"
            )
            if found is None:
                raise SettingsError(
                    f"{reason}; name a text that shows how many words this changes (--check FILE), "
                    "or learn with --merge-rule concat"
                )
            messages.append(f"{reason}; {found} come out differently")
    elif theirs == "pairs" and mine == "concat":
        if other := overlapping_tokens(vocabulary):
            messages.append(
                f"{len(other):,} tokens, such as {other[0]!r}, can be cut into overlapping pairs; "
                "only one of them is ever merged, so this changes nothing"
            )
        if form.one_pair_at_a_time and (other := delayed_tokens(vocabulary)):
            found = None if counts is None else check_delayed(vocabulary, counts)
            messages.append(
                f"{form.toolkit} may merge {len(other):,} tokens, such as {other[0]!r}, too early"
                + ("; count with --check FILE" if found is None else f"; {found} differ")
            )
    if form.toolkit == "tiktoken" and vocabulary.unreachable and not vocabulary.whole_words:
        example = vocabulary.tokens[vocabulary.unreachable[0]].text
        messages.append(
            f"{len(vocabulary.unreachable):,} tokens, such as {example!r}, no merges lead to: "
            "tiktoken uses them for a word that is just that"
        )
    if form.toolkit == "SentencePiece" and vocabulary.of_kind("symbol"):
        messages.append("SentencePiece puts `▁` before a text that starts with a symbol")
    return messages, found


def _compare_look_up(vocabulary: Vocabulary, form: Format) -> list[str]:
    if form.merge_rule is None:
        return [f"tokens only: how they are found ({vocabulary.encoding}) is not there"]
    messages = []
    look_up = vocabulary.look_up
    if (
        look_up is not None
        and vocabulary.encoding == "unigram"
        and not has_exact_scores(vocabulary)
    ):
        theirs = ("float32", "text") if form.toolkit == "SentencePiece" else ("float64", "space")
        if (look_up.arithmetic, look_up.restart) != theirs:
            messages.append(
                f"{form.toolkit} adds scores with other rounding errors: where two ways to cut a "
                "word are nearly equal it may take the other (not so if scores are multiples of "
                "1/1024)"
            )
    if form.toolkit == "Hugging Face" and vocabulary.unknown == "byte":
        messages.append("Hugging Face takes the text `<0x41>` for the byte token of that name")
    if form.toolkit == "SentencePiece" and vocabulary.of_kind("symbol"):
        messages.append("SentencePiece puts `▁` before a text that starts with a symbol")
    return messages


def import_vocabulary(
    path: str | os.PathLike[str], form: str | None = None
) -> tuple[Vocabulary, list[str]]:
    """Read another toolkit's file; returns the vocabulary, and what to know about it.

    The format is told by name and content, or by `form`. The file is not trusted.
    """
    file = Path(path)
    if form is None:
        form = detect(file)
    check_choice("form", form, tuple(FORMATS))
    pieces = FORMATS[form].read(file)
    vocabulary = assemble(pieces)
    if FORMATS[form].merge_rule is None:
        pieces.messages.append("the list has no merges: any two tokens that make a token do")
    return vocabulary, pieces.messages


def detect(path: Path) -> str:
    """Which format a file or folder has."""
    if path.name == "volt.json":
        raise InputError(f"{path}: this is a vocabulary of volt: use it as it is")
    for name, form in FORMATS.items():
        if path.is_dir():
            if any((path / end).exists() for end in form.names if not end.startswith(".")):
                return name
        elif path.name.endswith(form.names):
            return name
    if path.is_dir():
        check_sides(path)
        if (path / "volt.json").exists():
            return detect(path / "volt.json")
        raise InputError(f"{path}: no tokenizer.json, vocab.json or dict.txt in this folder")
    data = read_bytes(path)
    head = data[:4096]
    first = head.partition(b"\n")[0].rstrip(b"\r")
    if first.startswith(b"#version:"):
        return "subword-nmt"
    if head.lstrip()[:1] == b"{":
        return "hf" if b'"model"' in data else "gpt2"
    if b"\0" in head or _is_no_text(head):
        return "sentencepiece"
    token, _, rank = first.rpartition(b" ")
    if rank.isdigit() and token:
        if token.endswith(b":"):
            return "marian"
        return "tiktoken" if len(token) % 4 == 0 and _base64_lines(data) else "fairseq"
    return "text"


def _is_no_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.end < len(head)
    return False


def _base64_lines(data: bytes) -> bool:
    """Are there lines for all 256 bytes? A dictionary of words has none for most."""
    codes = {line.partition(b" ")[0] for line in data.split(b"\n")}
    return all(code in codes for code in (b"AA==", b"/w==", b"gA=="))


__all__ = [
    "FORMATS", "Check", "ExportResult", "Format", "detect", "export", "import_vocabulary",
]  # fmt: skip
