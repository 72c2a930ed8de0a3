"""fairseq `dict.txt`: a token and its count on every line, for text encoded by `volt encode`.

fairseq gives `<s>` 0, `<pad>` 1, `</s>` 2 and `<unk>` 3, which are not in the file, and numbers the
lines on from 4. So its ids are those of the file, not those of volt.
"""

from __future__ import annotations

from pathlib import Path

from volt.base.errors import SettingsError
from volt.formats.assembly import Pieces, read_lines, read_token
from volt.formats.text import from_list
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

BUILT_IN = ("<s>", "<pad>", "</s>", "<unk>")


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    lines = [
        f"{printed} {vocabulary.tokens[number].frequency // vocabulary.unit}\n"
        for number, printed in listed(vocabulary, "fairseq", BUILT_IN)
    ]
    return {path: "".join(lines).encode()}


def listed(
    vocabulary: Vocabulary, toolkit: str, built_in: tuple[str, ...]
) -> list[tuple[int, str]]:
    """The tokens, by id and as `volt encode` prints them, but for the toolkit's own."""
    for token in vocabulary.tokens:
        if token.text in built_in and token.kind != "special":
            raise SettingsError(
                f"{toolkit} takes {token.text!r} for its own token, here it is text; "
                "learn with it among the --special tokens"
            )
    printed = enumerate(Tokenizer(vocabulary).printed)
    return [(number, text) for number, text in printed if text not in built_in]


def read(path: Path) -> Pieces:
    counts: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        text, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        text = read_token(text, path, number)
        if not text or not (count.isascii() and count.isdigit() and len(count) < 19):
            raise Pieces(str(path), "fairseq", "metaspace", []).fail(
                f"line {number}: {line[:60]!r} is no token with its count"
            )
        if text in counts or text in BUILT_IN:
            raise Pieces(str(path), "fairseq", "metaspace", []).fail(
                f"line {number}: {text[:60]!r} is there already"
            )
        counts[text] = int(count)
    pieces = from_list(str(path), "fairseq", [*BUILT_IN, *counts])
    pieces.frequencies = counts
    return pieces
