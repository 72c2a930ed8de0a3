"""Text becomes words, and words are counted.

A pre-tokenizer cuts a text, which is a line or a whole document, into words. From there on only the
words and their counts matter.

>>> words_of("Hello, world", "metaspace")
['▁Hello', ',', '▁world']
>>> words_of("Hello, world", "byte-level")
['Hello', ',', ' world']
>>> count_words(["low low lower"], "whitespace")
{'low': 2, 'lower': 1}
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby

from volt import _core

OTHER, LETTER, MARK, NUMBER, SPACE = range(5)
"""What `_core.unicode_class` says of a character. A mark, such as an accent, belongs to the letter
before it."""

CONTRACTIONS = ("'s", "'t", "'re", "'ve", "'m", "'ll", "'d")


def words_of(text: str, pretokenizer: str) -> list[str]:
    """Cut one text into words: a line without its line end, or a document."""
    rules = {
        "whitespace": whitespace, "metaspace": metaspace, "byte-level": byte_level,
        "byte-level:deepseek": deepseek, "byte-level:starcoder": starcoder,
    }  # fmt: skip
    return rules[pretokenizer](text) if pretokenizer in rules else pattern(text, pretokenizer)


def whitespace(line: str) -> list[str]:
    """Runs of anything but space, tab, CR and LF."""
    for blank in "\t\r\n":
        line = line.replace(blank, " ")
    return [word for word in line.split(" ") if word]


def metaspace(line: str) -> list[str]:
    """Every space becomes `▁` at the start of the next word, and so does a space that is added
    before the line. A word also ends where letters, numbers and other characters meet. A `▁` of the
    text itself separates words and belongs to none.
    """
    found: list[str] = []
    kind_before = None
    for character in " " + line if line else "":
        kind = {LETTER: "letter", MARK: "letter", NUMBER: "number"}.get(
            _core.unicode_class(ord(character)), "other"
        )
        if character == " ":
            found.append("▁")
            kind_before = "space"
        elif character == "▁":
            kind_before = None
        elif kind_before in (kind, "space"):
            found[-1] += character
            kind_before = kind
        else:
            found.append(character)
            kind_before = kind
    return found


def spaced(line: str) -> list[str]:
    """Metaspace for vocabularies whose words end at spaces only."""
    return [word.replace(" ", "▁") for word in re.findall(" [^ ]*", " " + line if line else "")]


def space_runs(line: str) -> list[str]:
    """Metaspace for vocabularies with tokens of several spaces: these belong to the word after
    them."""
    return [word.replace(" ", "▁") for word in re.findall(" *[^ ]+| +", " " + line if line else "")]


def byte_level(line: str) -> list[str]:
    r"""GPT-2: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""

    def kind(position: int) -> int:
        found = _core.unicode_class(ord(line[position]))
        return OTHER if found == MARK else found

    def run_end(position: int) -> int:
        end = position
        while end < len(line) and kind(end) == kind(position):
            end += 1
        return end

    found: list[str] = []
    start = 0
    while start < len(line):
        contraction = next((c for c in CONTRACTIONS if line.startswith(c, start)), None)
        body = start + 1 if line[start] == " " else start
        if contraction:
            end = start + len(contraction)
        elif body < len(line) and kind(body) != SPACE:
            end = run_end(body)
        else:
            end = run_end(start)
            if end < len(line) and end - start > 1:
                end -= 1  # white space leaves its last character to the next word
        found.append(line[start:end])
        start = end
    return found


def pattern(line: str, pretokenizer: str) -> list[str]:
    r"""Llama 3: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
     ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+

    Qwen 2 has \p{N} instead of \p{N}{1,3}. GPT-4 (cl100k) has \s+$ before \s*[\r\n]+. GPT-4o
    (o200k) has different words of letters, see `_cased_end`, and [\r\n/]* instead of [\r\n]*.
    """
    cased = pretokenizer.endswith("o200k")
    kinds = [_core.unicode_class(ord(character)) for character in line]
    kinds = [OTHER if kind == MARK else kind for kind in kinds]

    def run_end(start: int, kind: int) -> int:
        return next((i for i in range(start, len(line)) if kinds[i] != kind), len(line))

    def word_end(start: int) -> int:
        """The end of the first alternative that matches here."""
        body = start + (kinds[start] in (OTHER, SPACE) and line[start] not in "\r\n")
        if cased and (end := _cased_end(line, start, body)) > start:
            return end + _contraction(line, end)
        if not cased and (length := _contraction(line, start)):
            return start + length
        if not cased and (end := run_end(body, LETTER)) > body:
            return end
        if kinds[start] == NUMBER:
            return min(run_end(start, NUMBER), start + (1 if pretokenizer.endswith("qwen2") else 3))
        body = start + (line[start] == " ")
        if (end := run_end(body, OTHER)) > body:
            return len(line) - len(line[end:].lstrip("\r\n/" if cased else "\r\n"))
        end = run_end(start, SPACE)
        if end == len(line) and pretokenizer.endswith("cl100k"):
            return end
        if last := max(line.rfind(c, start, end) + 1 for c in "\r\n"):
            return last
        return end - 1 if start + 1 < end < len(line) else end

    found: list[str] = []
    start = 0
    while start < len(line):
        end = word_end(start)
        found.append(line[start:end])
        start = end
    return found


def starcoder(text: str) -> list[str]:
    """Every digit is a word; what is between digits is cut by GPT-2's pattern."""
    return [word for part in _runs(text, _is_number, 1) for word in byte_level(part)]


def deepseek(text: str) -> list[str]:
    r"""DeepSeek V3: first \p{N}{1,3} are parts, then [一-龥぀-ゟ゠-ヿ]+, and each part is cut by

    [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|
     ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+

    Each character is replaced by a letter for its class, so that Python's own regular expressions
    can do the matching: `p` and `a` are the signs and letters of ASCII, `P` and `L` all others, `n`
    line breaks, `s` other white space than the space. What nothing matches is a word as well.
    """

    def is_han(character: str) -> bool:
        return "\u4e00" <= character <= "\u9fa5" or "\u3040" <= character <= "\u30ff"

    def shown(character: str) -> str:
        kind = _core.unicode_class(ord(character))
        if character in "\r\n ":
            return "n" if character != " " else " "
        if kind in (LETTER, MARK):
            return "a" if character.isascii() else "L"
        if _core.is_sign(ord(character)):
            return "p" if character.isascii() else "P"
        return "s" if kind == SPACE else "-"

    rule = r"pa+|[^naLpP]?[aL]+| ?[pP]+n*|[ sn]*n+|[ sn]+(?![^ sn])|[ sn]+|((?!pa|[^naLpP][aL])-)+"
    found: list[str] = []
    for numbers in _runs(text, _is_number, 3):
        for part in _runs(numbers, is_han, len(text)):
            classes = "".join(map(shown, part))
            found += [part[m.start() : m.end()] for m in re.finditer(rule, classes)]
    return found


def _is_number(character: str) -> bool:
    return _core.unicode_class(ord(character)) == NUMBER


def _runs(text: str, belongs: Callable[[str], bool], most: int) -> list[str]:
    """Parts of a text: runs of characters that belong together, up to a limit, and the rest."""
    parts: list[str] = []
    for belonging, run in groupby(text, belongs):
        characters = "".join(run)
        step = most if belonging else len(characters)
        parts += [characters[i : i + step] for i in range(0, len(characters), step)]
    return parts


def cuts_of(text: str) -> list[int]:
    """Where byte-level text may be cut in two without changing its words, in characters: before a
    space that follows neither white space nor a control character of ASCII, and before a line break
    or an ASCII sign, but for the apostrophe, that follows a letter or number."""
    kinds = [_core.unicode_class(ord(character)) for character in text]
    is_control = re.compile("[\\x00-\\x1f\\x7f]").match
    signs = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\r\n'
    return [
        i
        for i in range(1, len(text))
        if (text[i] == " " and kinds[i - 1] != SPACE and not is_control(text[i - 1]))
        or (text[i] in signs and kinds[i - 1] in (LETTER, NUMBER))
    ]


def _contraction(line: str, start: int) -> int:
    """The length of the contraction at this place, in upper or lower case; 0 if there is none."""
    lower = line[start : start + 3].lower().replace("ſ", "s")
    return next((len(c) for c in CONTRACTIONS if lower.startswith(c)), 0)


def _cased_end(line: str, start: int, body: int) -> int:
    r"""[^\r\n\p{L}\p{N}]?W*w+|[^\r\n\p{L}\p{N}]?W+w*, where W is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
    and w is [\p{Ll}\p{Lm}\p{Lo}\p{M}]. `body` is the place after the optional first character.

    Each character is replaced by a letter for its class, so that Python's own regular expressions
    can do the matching.
    """
    shown = "".join(
        "B" if (kind := _core.unicode_class(ord(character))) == MARK
        else "BUl"[_core.letter_case(ord(character))] if kind == LETTER else "-"
        for character in line[start:]
    )  # fmt: skip
    places = [body - start, 0] if body > start else [0]
    for alternative in ("[UB]*[lB]+", "[UB]+[lB]*"):
        for place in places:
            if found := re.compile(alternative).match(shown, place):
                return start + found.end()
    return start


def cut(word: str, max_word_length: int) -> list[str]:
    """A word longer than the maximum becomes several."""
    return [word[i : i + max_word_length] for i in range(0, len(word), max_word_length)]


def lines_of(text: str) -> list[str]:
    """Lines end at LF; a CR before it belongs to the line end. Nothing else ends a line."""
    lines = text.split("\n")
    ended, last = lines[:-1], lines[-1:]
    return [line.removesuffix("\r") for line in ended] + [line for line in last if line]


def count_words(
    lines: Iterable[str], pretokenizer: str, max_word_length: int = 64
) -> dict[str, int]:
    """Word types and counts, most frequent first. Equal counts are ordered by the words' bytes."""
    counts: Counter[str] = Counter()
    for line in lines:
        for word in words_of(line, pretokenizer):
            counts.update(cut(word, max_word_length))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].encode())))


def count_words_in_runs(
    lines: Iterable[str],
    pretokenizer: str,
    max_word_length: int = 64,
    *,
    table: int,
    min_count: int = 1,
    max_types: int | None = None,
) -> list[tuple[str, int]]:
    """What the native code does when memory is short. Whenever the table has `table` types it is
    written out as a sorted run and emptied; at the end the runs are merged. Returns the words of
    the counts file, in its order.
    """
    runs: list[list[tuple[bytes, int]]] = []
    counts: dict[str, int] = {}
    for line in lines:
        for word, count in count_words([line], pretokenizer, max_word_length).items():
            counts[word] = counts.get(word, 0) + count
        if len(counts) >= table:
            runs.append(sorted((word.encode(), count) for word, count in counts.items()))
            counts = {}
    runs.append(sorted((word.encode(), count) for word, count in counts.items()))
    merged = [
        (word, sum(count for _, count in same))
        for word, same in groupby(heapq.merge(*runs), key=lambda entry: entry[0])
    ]
    kept = sorted(
        ((word, count) for word, count in merged if count >= min_count),
        key=lambda entry: (-entry[1], entry[0]),
    )
    return [(word.decode(), count) for word, count in kept[:max_types]]


def byte_letter(byte: int) -> str:
    """GPT-2's letter for a byte: printable bytes are themselves.

    >>> byte_letter(ord("a")), byte_letter(ord(" "))
    ('a', 'Ġ')
    """
    printing = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printing:
        return chr(byte)
    return chr(0x100 + [other for other in range(256) if other not in printing].index(byte))
