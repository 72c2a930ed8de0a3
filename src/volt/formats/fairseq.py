"""fairseq: `dict.txt`, a token and its count per line.

Whitespace text that is merged goes to fairseq in the notation of subword-nmt, as its BPE
`subword_nmt` gives it: `lo@@ w`. The codes for that are beside the dictionary. Other vocabularies
are written as `volt encode` prints them; it has a form for that notation, too.

fairseq gives `<s>` 0, `<pad>` 1, `</s>` 2 and `<unk>` 3, which are not in the file, and numbers the
lines from 4 on. So its ids are those of the file, not those of volt. Special tokens with these four
roles are left out, whatever they are called.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from volt.base.gate import read_lines
from volt.base.shown import plural
from volt.counting.marks import END_MARK, WORD_END
from volt.formats import subword_nmt
from volt.formats.assembly import Parsed
from volt.formats.base import Format, Written
from volt.formats.files import parsed_count, read_token
from volt.formats.text import NAME, from_list, tokens_only
from volt.proposing.tokens import SPELLED, Kind
from volt.tokenizing.roles import RoleName
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary

BUILT_IN = ("<s>", "<pad>", "</s>", "<unk>")


def codes_path(path: Path) -> Path:
    return path.with_suffix(".codes")


def write(vocabulary: Vocabulary, path: Path) -> Written:
    joined = fits_codes(vocabulary)
    lines = []
    for number, printed in others(vocabulary, BUILT_IN):
        token = vocabulary.tokens[number]
        coded = joined and token.kind in SPELLED
        text = WORD_END.joined(token.text) if coded else printed
        lines.append(f"{text} {token.frequency // vocabulary.unit}\n")
    files = {path: "".join(lines).encode()}
    return files | (subword_nmt.write(vocabulary, codes_path(path)) if joined else {})


def fits_codes(vocabulary: Vocabulary) -> bool:
    """Is there a codes file that gives the tokens of the dictionary?"""
    return subword_nmt.FORMAT.refuse(vocabulary) is None


def others(vocabulary: Vocabulary, built_in: tuple[str, ...]) -> list[tuple[int, str]]:
    """The tokens, by id and as `volt encode` prints them, without the toolkit's own and those that
    have the same roles."""
    ends: tuple[RoleName, ...] = ("bos", "eos", "pad", "unk")
    left_out = {*built_in, *map(vocabulary.role, ends)}
    printed = enumerate(Tokenizer(vocabulary).printed)
    return [(number, text) for number, text in printed if text not in left_out]


def taken_names(vocabulary: Vocabulary, toolkit: str, built_in: tuple[str, ...]) -> Iterator[str]:
    for token in vocabulary.tokens:
        if token.text in built_in and token.kind != "special":
            yield (
                f"{toolkit} takes {token.text!r} for its own token, here it is text; "
                "learn with it among the `special` tokens"
            )


def read(path: Path) -> Parsed:
    if codes_path(path).exists():
        return _read_joined(path)
    counts: dict[str, int] = {}
    empty = Parsed(str(path), "fairseq", "metaspace", [])
    for number, line in enumerate(read_lines(path), 1):
        text, _, count = line.removesuffix(" #fairseq:overwrite").rpartition(" ")
        text = read_token(text, path, number)
        frequency = parsed_count(count)
        if not text or frequency is None:
            raise empty.fail(f"line {number}: {line[:60]!r} is not a token with its count")
        if text in BUILT_IN:
            raise empty.fail(
                f"line {number}: {text!r} is a token that fairseq adds by itself: a dictionary of "
                "fairseq does not list it"
            )
        if text in counts:
            raise empty.fail(f"line {number}: {text[:60]!r} is there already")
        counts[text] = frequency
    parsed = from_list(str(path), "fairseq", [*BUILT_IN, *counts])
    parsed.frequencies = counts
    return parsed


def notes(vocabulary: Vocabulary) -> Iterator[str]:
    yield from tokens_only(vocabulary)
    if fits_codes(vocabulary):
        spaced = [text for text in vocabulary.texts if text.split() != [text]]
        if spaced:
            yield (
                f"fairseq cuts at every white space: it never finds "
                f"{plural(len(spaced), 'token')}, such as {spaced[0]!r}"
            )


def _read_joined(path: Path) -> Parsed:
    """A dictionary in the notation of subword-nmt, with its codes."""
    parsed = subword_nmt.read(codes_path(path), path)
    parsed.name, parsed.form = str(path), "fairseq"
    made = {left + right for left, right in parsed.pairs or []}
    names: dict[str, Kind] = {
        text: "special"
        for text in parsed.texts
        if text not in made and NAME.fullmatch(text.removesuffix(END_MARK))
    }
    texts = [text.removesuffix(END_MARK) if text in names else text for text in parsed.texts]
    parsed.texts = [*BUILT_IN, *(text for text in texts if text not in BUILT_IN)]
    parsed.kinds = dict.fromkeys([*BUILT_IN, *(n.removesuffix(END_MARK) for n in names)], "special")
    return parsed


FORMAT = Format(
    name="fairseq",
    toolkit="fairseq",
    description="A dictionary, with codes for its `subword_nmt` where the text is whitespace.",
    writes="`dict.txt`; `dict.codes` and `dict.codes.vocab`",
    write=write,
    read=read,
    refusals=lambda vocabulary: taken_names(vocabulary, "fairseq", BUILT_IN),
    notes=notes,
    encoded_as=lambda vocabulary: "subword-nmt" if fits_codes(vocabulary) else "tokens",
    names=("dict.txt",),
    example=("dict.txt", "volt encode -m . train.de -o train.bpe.de"),
)
