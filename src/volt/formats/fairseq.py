"""fairseq `dict.txt`: a token and its count per line, for text encoded by `volt encode`.

fairseq gives `<s>` 0, `<pad>` 1, `</s>` 2 and `<unk>` 3, which are not in the file, and numbers the
lines from 4 on. So its ids are those of the file, not those of volt.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from volt.formats.assembly import Parsed
from volt.formats.base import Files, Format
from volt.formats.files import parsed_count, read_lines, read_token
from volt.formats.text import from_list, tokens_only
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

BUILT_IN = ("<s>", "<pad>", "</s>", "<unk>")


def write(vocabulary: Vocabulary, path: Path) -> Files:
    lines = [
        f"{printed} {vocabulary.tokens[number].frequency // vocabulary.unit}\n"
        for number, printed in others(vocabulary, BUILT_IN)
    ]
    return {path: "".join(lines).encode()}


def others(vocabulary: Vocabulary, built_in: tuple[str, ...]) -> list[tuple[int, str]]:
    """The tokens, by id and as `volt encode` prints them, without the toolkit's own."""
    printed = enumerate(Tokenizer(vocabulary).printed)
    return [(number, text) for number, text in printed if text not in built_in]


def taken_names(vocabulary: Vocabulary, toolkit: str, built_in: tuple[str, ...]) -> Iterator[str]:
    for token in vocabulary.tokens:
        if token.text in built_in and token.kind != "special":
            yield (
                f"{toolkit} takes {token.text!r} for its own token, here it is text; "
                "learn with it among the `special` tokens"
            )


def read(path: Path) -> Parsed:
    counts: dict[str, int] = {}
    empty = Parsed(str(path), "fairseq", "metaspace", [])
    for number, line in enumerate(read_lines(path), 1):
        text, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        text = read_token(text, path, number)
        frequency = parsed_count(count)
        if not text or frequency is None:
            raise empty.fail(f"line {number}: {line[:60]!r} is no token with its count")
        if text in counts or text in BUILT_IN:
            raise empty.fail(f"line {number}: {text[:60]!r} is there already")
        counts[text] = frequency
    parsed = from_list(str(path), "fairseq", [*BUILT_IN, *counts])
    parsed.frequencies = counts
    return parsed


FORMAT = Format(
    name="fairseq",
    toolkit="fairseq",
    description="A dictionary for text that `volt encode` has encoded.",
    writes="`dict.txt`",
    write=write,
    read=read,
    refusals=lambda vocabulary: taken_names(vocabulary, "fairseq", BUILT_IN),
    notes=tokens_only,
    names=("dict.txt",),
    example=("dict.txt", "volt encode -m . train.de -o train.volt.de"),
)
