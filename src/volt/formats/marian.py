"""Marian `.yml`: a token and its id per line, for text encoded by `volt encode`.

`</s>` is 0 and `<unk>` is 1, as Marian wants it, whatever the tokens with these roles are called.
It has no padding and no start token, so those are left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from volt.base.gate import read_lines
from volt.formats.assembly import Parsed
from volt.formats.base import Format, Written
from volt.formats.fairseq import others, taken_names
from volt.formats.files import read_token
from volt.formats.text import from_list, tokens_only
from volt.tokenizing.vocabulary import Vocabulary

FIRST = ("</s>", "<unk>")
LEFT_OUT = ("<pad>", "<s>")

# Characters that YAML does not allow inside of quotes as they are.
_ESCAPED = re.compile(r"[^\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LINE = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{},#&*!|>%@`-][^\s]*|[^\s:]+): +(\d{1,9})"""
)


def write(vocabulary: Vocabulary, path: Path) -> Written:
    tokens = [*FIRST, *(text for _, text in others(vocabulary, FIRST + LEFT_OUT))]
    lines = [f"{_quoted(text)}: {number}\n" for number, text in enumerate(tokens)]
    return {path: "".join(lines).encode()}


def _quoted(text: str) -> str:
    """The text in quotes. A backslash goes into single quotes, where it stands for itself:
    CTranslate2's reader of these files takes `"\\\\x` for a number."""
    if "\\" in text and not _ESCAPED.search(text):
        return "'" + text.replace("'", "''") + "'"

    def escape(found: re.Match[str]) -> str:
        code = ord(found[0])
        return f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"

    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _ESCAPED.sub(escape, plain) + '"'


def read(path: Path) -> Parsed:
    """One `token: id` per line, the token plain or in quotes; no other YAML."""
    number_of: dict[str, int] = {}
    empty = Parsed(str(path), "marian", "metaspace", [])
    for number, line in enumerate(read_lines(path), 1):
        found = _LINE.fullmatch(line)
        try:
            text = read_token(_unquoted(found[1]), path, number) if found else ""
        except ValueError:
            text = ""
        if not found or not text:
            raise empty.fail(f"line {number}: {line[:60]!r} is not `token: id`")
        if text in number_of:
            raise empty.fail(f"line {number}: {text[:60]!r} is there twice")
        number_of[text] = int(found[2])
    texts = empty.by_number(number_of)
    if tuple(texts[:2]) != FIRST:
        raise empty.fail(f"the first two tokens are {', '.join(FIRST)} in Marian")
    return from_list(str(path), "marian", texts)


def _unquoted(text: str) -> str:
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if not text.startswith('"'):
        return text
    joined = re.sub(
        r"\\(?:U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|.)",
        lambda found: _as_json(found[0], found[1] or found[2]),
        text,
    )
    plain = json.loads(joined)
    if not isinstance(plain, str):
        raise ValueError(text)
    return plain


def _as_json(escape: str, code: str | None) -> str:
    return json.dumps(chr(int(code, 16)))[1:-1] if code else escape


FORMAT = Format(
    name="marian",
    toolkit="Marian",
    description="A vocabulary for text that `volt encode` has encoded. To encode by itself, Marian "
    "takes the model of `sentencepiece`.",
    writes="`.yml`",
    write=write,
    read=read,
    refusals=lambda vocabulary: taken_names(vocabulary, "Marian", FIRST + LEFT_OUT),
    notes=tokens_only,
    names=(".yml", ".yaml"),
    example=("volt.yml", "volt encode -m . train.de -o train.bpe.de"),
)
