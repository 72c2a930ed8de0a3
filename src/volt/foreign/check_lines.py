"""The built-in lines on which engines are compared: 2,000 texts, ordinary and hostile.

They are made by code, so that nobody's text is in here. A quarter looks like prose of several
scripts, a quarter like code and tables, the rest is what tokenizers differ on: runs of white space,
combining marks, digits of many kinds, names of tokens, cut and unassigned characters, long words.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from unicodedata import ucd_3_2_0

if TYPE_CHECKING:
    from volt.foreign.base import Engine

T = TypeVar("T")
NUMBER = 2000
MOST_NAMES = 50
"""Special and added tokens whose names are tried."""
SYLLABLES = {
    "latin": [
        a + b for a in ("b", "d", "st", "sch", "l", "m", "n", "pr", "qu") for b in "aeiouyéü"
    ],
    "cyrillic": [a + b for a in "бвгдклмнпрст" for b in "аеиоуыя"],
    "greek": [a + b for a in "βγδκλμνπρστ" for b in "αεηιουώ"],
    "arabic": ["مر", "كت", "سلا", "من", "عل", "في", "الت", "وا"],
    "hebrew": ["של", "בי", "תו", "רה", "אמ", "כן"],
    "devanagari": ["कि", "ता", "ने", "हैं", "प्र", "श्री", "के"],
    "thai": ["กา", "ที่", "น้ำ", "ไม่", "ครั", "เป็น"],
    "han": list("的一是不了在人有我他这中大来上国語彙"),
    "kana": list("あいうえおかきくけこアイウエオカキクケコー"),
    "hangul": list("가나다라마바사아자차어휘"),
}
WORD_LETTERS = {"han": (1, 3), "kana": (2, 6)}
SPACES = [" ", "  ", "   ", " " * 7, " " * 33, "\t", "\t\t", "\n", "\n\n", "\n\n\n", "\r\n", "\r",
          "\n    ", "\n\t", " \n ", "\u00a0", "\u3000", "\u2003", "\u200b", "\u200d", "\ufeff",
          "\u2028", "\u0085", "\x0b", "\x0c", "\x1c", "\u180e", "\u202f"]  # fmt: skip
MARKS = ["▁", "▁▁", "</w>", "##", "@@", "Ġ", "Ċ", "<0x0A>", "<0xE2>", "<unk>", "<s>", "</s>",
         "<pad>", "<mask>", "[UNK]", "[CLS]", "[MASK]", "<|endoftext|>", "<|im_start|>", "<bos>",
         "<extra_id_0>", "\u2581a", "a\u2581b"]  # fmt: skip
DIGITS = ["0", "7", "42", "007", "1984", "3.14", "1,000,000", "12345678901234567890", "٣٤٥", "१२३",
          "½", "²", "Ⅷ", "①②", "1e-9", "0x1F", "½1", "１２３", "2024-11-18", "10:45"]  # fmt: skip
ODD = ["e\u0301", "é", "ﬁ", "ﷺ", "ǅ", "İ", "ß", "ẞ", "Å", "Å", "ｈａｌｆ", "㎏", "🙂", "👩‍🚀",
       "👍🏽", "🇩🇪", "\U0001f9ff", "\ue000", "\U0010ffff", "\u0378", "\x00", "\x07", "\x7f", "\xad",
       "\u202e", "\u0301", "\u0301\u0302", "\u1ab0", "x\u0336", "𝔘𝔫𝔦", "ᏣᎳᎩ", "ꙮ", "﷽", "\uffff",
       "\ufffd", "١", "ͅ", "ŉ", "ΐ", "ſ", "K", "日本語", "（）", "、", "。"]  # fmt: skip
CONTRACTIONS = ["don't", "I'M", "we'll", "they'Ve", "'s", "it’s", "o'clock", "'tis", "d'accord",
                "rock'n'roll", "''", "'ll", "'LL", "Can'T"]  # fmt: skip
PUNCTUATION = [*".,;:!?…—–-_/\\|@#$%^&*()[]{}<>+=~`\"'«»¿¡", "...", "!!!", "//", "->", "==",
              "**", "::", "<=", "/*", "*/", "\\n", "----------", "=" * 40, "()", "});"]  # fmt: skip
CODE = ["def", "return", "if", "else:", "for", "in", "range(", "self.", "import", "const", "int",
        "std::vector<int>", "x_1", "camelCase", "HTTPServer", "snake_case_name", "0xFF", "print(",
        "\"str\"", "'c'", "#include", "<html>", "</div>", "{", "}", "=>", "lambda x:", "//", "/**",
        "SELECT * FROM t;", "https://a.b/c?d=e&f=g#h", "a@b.org", "C:\\dir\\f.txt"]  # fmt: skip


class Draw:
    """Random choices, the same in every run. Much quicker than those of `random`, which take most
    of the time that the texts need."""

    def __init__(self, seed: int) -> None:
        self.share = random.Random(seed).random

    def between(self, low: int, high: int) -> int:
        return low + int(self.share() * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        return items[int(self.share() * len(items))]

    def choices(self, items: Sequence[T], k: int) -> list[T]:
        share, number = self.share, len(items)
        return [items[int(share() * number)] for _ in range(k)]


@lru_cache
def built_in(names: tuple[str, ...] = ()) -> list[str]:
    """The 2,000 texts. `names` of special and added tokens occur in some, and in four more each."""
    draw = Draw(20)
    makers = [_prose, _prose, _code, _table, _spaces, _mixture, _mixture, _characters]
    marks = [*MARKS, *names]
    texts = ["", " ", "  ", "\n", "a", "\t", "\u00a0", "▁", "\x00", "a" * 300, "ab" * 200, "1" * 90,
             " " * 200, "\n" * 50, "é" * 80, "日" * 120, "-" * 300, "🙂" * 20]  # fmt: skip
    while len(texts) < NUMBER:
        texts.append(makers[len(texts) % len(makers)](draw, marks))
    for name in names:
        texts += [f"a {name} b", f"a{name}b {name}", f"{name}{name.upper()} ", f"\n {name}\t"]
    return texts


def texts_for(engine: Engine) -> list[str]:
    """The texts on which an engine is compared with its library: names of its special and added
    tokens occur in some."""
    return built_in(tuple(engine.named_texts[:MOST_NAMES]))


def _word(draw: Draw, script: str) -> str:
    few, many = WORD_LETTERS.get(script, (1, 4))
    word = "".join(draw.choices(SYLLABLES[script], k=draw.between(few, many)))
    shape = draw.share()
    if shape < 0.15:
        return word.capitalize()
    return word.upper() if shape > 0.97 else word


def _prose(draw: Draw, marks: Sequence[str]) -> str:
    script = draw.choice([*SYLLABLES, "latin", "latin", "latin"])
    joint = "" if script in ("han", "kana", "thai") and draw.share() < 0.7 else " "
    words = [_word(draw, script) for _ in range(draw.between(1, 14))]
    if draw.share() < 0.3:
        words.insert(draw.between(0, len(words) - 1), draw.choice([*CONTRACTIONS, *DIGITS]))
    text = joint.join(words) + draw.choice([".", "!", "?", "…", "", "。", "\n"])
    return text + " " + _prose(draw, marks) if draw.share() < 0.2 else text


def _code(draw: Draw, marks: Sequence[str]) -> str:
    lines = []
    for _ in range(draw.between(1, 5)):
        indent = draw.choice(["", "  ", "    ", "\t", "\t\t", " " * 8, " " * 12, "   "])
        lines.append(indent + " ".join(draw.choices([*CODE, *DIGITS[:8]], k=draw.between(1, 7))))
    return draw.choice(["\n", "\r\n", "\n\n"]).join(lines) + draw.choice(["", "\n"])


def _table(draw: Draw, marks: Sequence[str]) -> str:
    joint = draw.choice(["\t", ",", " | ", ", ", ";"])
    rows = [joint.join(draw.choices([*DIGITS, "id", "name", "", "x"], k=draw.between(2, 6)))
            for _ in range(draw.between(1, 4))]  # fmt: skip
    return "\n".join(rows)


def _spaces(draw: Draw, marks: Sequence[str]) -> str:
    parts: list[str] = []
    for _ in range(draw.between(1, 8)):
        parts.append(draw.choice(SPACES))
        parts.append(draw.choice([_word(draw, "latin"), draw.choice(PUNCTUATION), ""]))
    return "".join(parts) + draw.choice(["", draw.choice(SPACES)])


def _mixture(draw: Draw, marks: Sequence[str]) -> str:
    pools: list[Sequence[str]] = [ODD, marks, DIGITS, CONTRACTIONS, PUNCTUATION, SPACES, CODE]
    parts = [
        draw.choice(draw.choice(pools)) if draw.share() < 0.7
        else _word(draw, draw.choice([*SYLLABLES]))
        for _ in range(draw.between(1, 12))
    ]  # fmt: skip
    return draw.choice(["", " ", ""]).join(parts)


def _characters(draw: Draw, marks: Sequence[str]) -> str:
    """Any characters of Unicode 3.2, on which the tables of all libraries agree."""
    ranges = [(0x20, 0x7E), (0x20, 0x2FF), (0x300, 0x2FFF), (0x3000, 0xD7FF), (0xE000, 0x1FFFF)]
    low, high = draw.choice(ranges)
    some = [chr(draw.between(low, high)) for _ in range(draw.between(1, 40))]
    return "".join(c for c in some if ucd_3_2_0.category(c) != "Cn") or "a"
