"""Many languages: exact balance, the table against plain counting, the floor, scripts."""

import json
import math
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import InputError, SettingsError, Tokenizer, WordCounts
from volt.languages.balance import balance, balanced, count_languages, find_languages
from volt.languages.scripts import script_of, split_scripts, word_scripts
from volt.languages.table import parity

RANGES = {
    "zh": [(0x4E00, 0x4F00), (0x3001, 0x3003)],
    "ja": [(0x3041, 0x3097), (0x30A1, 0x30FB), (0x4E00, 0x4E40), (0x3001, 0x3003)],
    "ko": [(0xAC00, 0xAD00), (0x20, 0x21)],
    "th": [(0x0E01, 0x0E3B), (0x0E40, 0x0E4F), (0x20, 0x21)],
    "ar": [(0x0620, 0x064B), (0x064B, 0x0653), (0x20, 0x21), (0x060C, 0x060D)],
    "he": [(0x05D0, 0x05EB), (0x05B0, 0x05BD), (0x20, 0x21)],
    "hi": [(0x0904, 0x093A), (0x093E, 0x094E), (0x20, 0x21), (0x0964, 0x0966)],
    "emoji": [(0x1F600, 0x1F650), (0x1F3FB, 0x1F400), (0x200D, 0x200E), (0xFE0F, 0xFE10),
              (0x1F1E6, 0x1F200), (0x20, 0x21)],
}  # fmt: skip
"""Code points that texts are made from."""


def text_of(code: str, lines: int, seed: int = 0) -> list[str]:
    """Lines of made-up words that come again and again, as words do."""
    draw = random.Random(f"{code}{seed}")
    letters = [chr(c) for low, high in RANGES[code] for c in range(low, high)
               if unicodedata.category(chr(c)) != "Cn"]  # fmt: skip
    words = ["".join(draw.choices(letters, k=draw.randint(1, 6))) for _ in range(150)]
    joint = "" if code in ("zh", "ja", "th") else " "
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    return [joint.join(draw.choices(words, weights, k=draw.randint(3, 12))) for _ in range(lines)]


def rows(texts: Iterable[list[str]], *more: int, **options: Any) -> list[int]:
    """Sizes with so many tokens besides special tokens, bytes and characters."""
    first = volt.candidates([*texts], merges=0, **options).curve.size[0]
    return [int(first) + number for number in more]


# ------------------------------------------------------------------------------------------ balance


@given(
    st.dictionaries(st.text("abc", min_size=1), st.integers(1, 10**9), min_size=1, max_size=6),
    st.fractions(1, 20, max_denominator=20),
)
def test_weights_are_the_nearest_thousandths(lines: dict[str, int], temperature: Fraction) -> None:
    getcontext().prec = 60
    most = max(lines.values())
    power = 1 - Decimal(temperature.denominator) / Decimal(temperature.numerator)
    for code, weight in balance(lines, temperature).items():
        assert (weight * 1000).denominator == 1
        exact = (Decimal(most) / Decimal(lines[code])) ** power
        assert abs(Decimal(weight.numerator) / weight.denominator - exact) <= Decimal("0.0005")


def test_temperature_by_hand() -> None:
    lines = {"en": 10_000, "is": 100, "cy": 1}
    assert balance(lines, 1) == {"en": 1, "is": 1, "cy": 1}
    assert balance(lines, 2) == {"en": 1, "is": 10, "cy": 100}  # p ~ sqrt(n): 100 : 10 : 1
    assert balance(lines, "inf") == {"en": 1, "is": 100, "cy": 10_000}
    assert balance(lines, "10/7")["is"] == Fraction(3981, 1000)  # 100^0.3 = 3.98107...
    for bad in ("0.5", "x", "nan", "1/0", "1.23456789"):
        with pytest.raises(SettingsError, match="temperature"):
            balance(lines, bad)
    with pytest.raises(InputError, match="cy: how many lines"):
        balance({"en": 3, "cy": 0}, 5)


@given(
    st.lists(st.lists(st.text("abc ", max_size=9), min_size=1, max_size=5), min_size=1, max_size=4),
    st.lists(st.fractions(Fraction(1, 50), 9, max_denominator=50), min_size=4, max_size=4),
)
def test_weighted_counts_are_exact(texts: list[list[str]], weights: list[Fraction]) -> None:
    counts = {str(i): volt.count([text]) for i, text in enumerate(texts)}
    exact = {code: weights[int(code)] for code in counts}
    joint = balanced(counts, exact)
    expected: Counter[str] = Counter()
    for code, one in counts.items():
        for word, number in one.items():
            expected[word] += number * exact[code]  # type: ignore[assignment]
    assert {word: Fraction(n, joint.unit) for word, n in joint.items()} == expected
    assert joint.totals.words == sum(joint.counts.tolist())
    assert joint.totals.lines == sum(map(len, texts))


def test_counting_apart_is_counting_together() -> None:
    texts = {code: [text_of(code, 20)] for code in ("ko", "ar", "hi")}
    _, joint, _ = count_languages(texts)
    together = volt.count([lines for (lines,) in texts.values()])
    assert joint.digest() == together.digest()
    assert joint.totals == together.totals


# -------------------------------------------------------------------------------------------- table


@pytest.fixture(scope="module")
def learned() -> volt.LearnResult:
    texts = {code: [text_of(code, 60 if code == "he" else 240)] for code in RANGES}
    sizes = rows((lines for (lines,) in texts.values()), 200, 400, 600, 800)
    return volt.learn(texts, sizes=sizes, merges=3000, temperature=5)


@pytest.mark.parametrize("code", RANGES)
def test_the_table_is_what_counting_tokens_gives(learned: volt.LearnResult, code: str) -> None:
    assert learned.languages is not None
    row = next(one for one in learned.languages.rows if one.code == code)
    lines = text_of(code, 60 if code == "he" else 240)
    tokenizer = Tokenizer(learned.vocabulary)
    encoded = [tokenizer.encode(line) for line in lines]
    tokens = Counter(i for ids in encoded for i in ids)
    total = sum(tokens.values())
    assert (row.lines, row.tokens, row.used) == (len(lines), total, len(tokens))
    assert row.tokens_per_sentence == pytest.approx(total / len(lines))
    counts = volt.count([lines])
    assert row.words == counts.totals.words
    assert row.tokens_per_word == pytest.approx(total / counts.totals.words)
    single = sum(n for word, n in counts.items() if _pieces(tokenizer, word) == 1)
    assert row.single_token_words == pytest.approx(single / counts.totals.words)
    entropy = -sum(n / total * math.log(n / total) for n in tokens.values())
    assert row.entropy == pytest.approx(entropy)
    assert row.unknown_characters == 0
    assert Fraction(row.weight) == balance({"a": 240, "b": row.lines}, 5)["b"]


def _pieces(tokenizer: Tokenizer, word: str) -> int:
    data = np.frombuffer(word.encode(), np.uint8)
    one = WordCounts(tokenizer.vocabulary.rule, data, np.array([0, len(data)], np.uint64),
                     np.ones(1, np.uint64))  # fmt: skip
    return len(tokenizer.encode_words(one)[0])


def test_shares_sum_to_the_tokens_in_use(learned: volt.LearnResult) -> None:
    assert learned.languages is not None
    own = [t for t in learned.vocabulary.tokens if t.kind in ("character", "merged")]
    in_use = sum(token.frequency > 0 for token in own)
    assert sum(row.share for row in learned.languages.rows) == pytest.approx(in_use / len(own))
    assert sum(row.sampled for row in learned.languages.rows) == pytest.approx(1)


def test_unknown_characters_are_counted() -> None:
    texts = {"ko": [text_of("ko", 50)], "emoji": [[*text_of("emoji", 50), "▁ \u0bb9 \u0bb9"]]}
    sizes = rows((lines for (lines,) in texts.values()), 50, 100, 150, coverage=0.995)
    options: dict[str, Any] = {"sizes": sizes, "merges": 1000, "coverage": 0.995}
    result = volt.learn(texts, **options)
    assert result.languages is not None
    row = result.languages.rows[1]
    tokenizer = Tokenizer(result.vocabulary)
    lines = texts["emoji"][0]
    known = {token.text for token in result.vocabulary.tokens if token.kind == "character"}
    # `▁` stands for a space in tokens: a `▁` of the text is unknown.
    missing = sum(c == "▁" or c not in known for line in lines for c in line if c != " ")
    assert missing > 3 and row.unknown_characters == missing
    assert row.tokens == sum(len(tokenizer.encode(line)) for line in lines)


def test_parity_is_the_ratio_of_tokens(tmp_path: Path) -> None:
    texts = {code: text_of(code, 80) for code in ("ko", "ar", "hi")}
    sizes = rows(texts.values(), 100, 200, 300)
    result = volt.learn({c: [t] for c, t in texts.items()}, sizes=sizes, merges=900, reference="ar")
    tokenizer = Tokenizer(result.vocabulary)
    lengths = {c: sum(len(tokenizer.encode(line)) for line in t) for c, t in texts.items()}
    assert result.languages is not None and result.languages.reference == "ar"
    for row in result.languages.rows:
        assert row.parity == pytest.approx(lengths[row.code] / lengths["ar"])
    files = {}
    for code in texts:
        files[code] = tmp_path / code
        files[code].write_text("\n".join(text_of(code, 9, seed=1)) + "\n", encoding="utf-8")
    ratios = parity(tokenizer, files, "ko")
    tested = {c: sum(len(tokenizer.encode(s)) for s in text_of(c, 9, seed=1)) for c in texts}
    assert ratios == {c: pytest.approx(tested[c] / tested["ko"]) for c in texts}
    files["hi"].write_text("x\n", encoding="utf-8")
    with pytest.raises(InputError, match="not parallel"):
        parity(tokenizer, files, "ko")
    uneven = volt.learn({"ko": [texts["ko"]], "ar": [texts["ar"][:40]]}, sizes=sizes, merges=900)
    assert uneven.languages is not None and uneven.languages.rows[1].parity is None
    assert any("no parity of ar with ko" in message for message in uneven.messages)


# -------------------------------------------------------------------------------------------- floor


@pytest.mark.parametrize("encoding", ["merge", "split"])
def test_the_floor_holds_and_costs_the_others(encoding: str) -> None:
    texts = {"ko": [text_of("ko", 500)], "ar": [text_of("ar", 500)], "he": [text_of("he", 40)]}
    sizes = rows((lines for (lines,) in texts.values()), 200, 300, 400)
    options = {"sizes": sizes, "merges": 2000, "size": 900,
               "encoding": encoding, "rank": "frequency", "min_frequency": 1}  # fmt: skip
    plain = volt.learn(texts, **options)
    assert plain.languages is not None
    before = {row.code: row for row in plain.languages.rows}
    floor = before["he"].share + 0.03
    helped = volt.learn(texts, min_share=floor, **options)
    assert helped.languages is not None
    after = {row.code: row for row in helped.languages.rows}
    assert all(row.share >= floor for row in after.values())
    assert after["he"].tokens < before["he"].tokens
    assert len(plain.vocabulary) == 900
    assert len(helped.vocabulary) == helped.choice.size == 900
    assert helped.vocabulary.unreachable == []
    for code, row in after.items():
        assert row.cost == pytest.approx(row.tokens / before[code].tokens - 1)
    assert any("raised to a share" in m for m in helped.messages)
    assert any("need more tokens" in m for m in helped.messages)
    assert f"|size:{len(helped.vocabulary)}|" in helped.signature
    again = volt.learn(texts, min_share=floor, threads=1, **options)
    assert again.vocabulary.to_json() == helped.vocabulary.to_json()


def test_floors_that_can_not_be() -> None:
    texts = {"ko": [text_of("ko", 60)], "ar": [text_of("ar", 60)]}
    sizes = rows((lines for (lines,) in texts.values()), 50, 100, 150)
    options: dict[str, Any] = {"sizes": sizes, "merges": 500}
    with pytest.raises(SettingsError, match=r"at most 0\.5"):
        volt.learn(texts, min_share=0.6, **options)
    easy = volt.learn(texts, min_share=0.01, **options)
    assert "every language has a share of 0.01 without help" in easy.messages


# -------------------------------------------------------------------------- end to end, and scripts


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level"])
@pytest.mark.parametrize("code", RANGES)
def test_text_comes_back_byte_for_byte(tmp_path: Path, code: str, pretokenizer: str) -> None:
    text = tmp_path / f"train.{code}"
    lines = text_of(code, 150)
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sizes = rows([lines], 50, 100, 200, pretokenizer=pretokenizer)
    result = volt.learn(text, pretokenizer=pretokenizer, sizes=sizes, merges=1000)
    result.save(tmp_path / "out")
    tokenizer = volt.load(tmp_path / "out")
    unseen = text_of(code, 40, seed=1)
    for line in (*lines, *unseen, *(unicodedata.normalize("NFD", line) for line in unseen)):
        assert tokenizer.decode(tokenizer.encode(line)) == line
    ids, offsets = tokenizer.encode_file(text)
    bounds = offsets.tolist()
    decoded = [tokenizer.decode(ids[a:b]) for a, b in pairwise(bounds)]
    if pretokenizer == "byte-level":  # the file is one document, line ends included
        assert decoded == [text.read_text(encoding="utf-8")]
    else:
        assert "\n".join(decoded) + "\n" == text.read_text(encoding="utf-8")


def test_all_of_them_together_come_back(learned: volt.LearnResult) -> None:
    tokenizer = Tokenizer(learned.vocabulary)
    for code in RANGES:
        for line in text_of(code, 30, seed=2):
            assert tokenizer.decode(tokenizer.encode(line)) == line


def test_scripts_of_words() -> None:
    counts = volt.count([["low", "низ", "漢字かな", "カナ", "क", "12", "؟", "a漢", "1ж", "🙂"]],
                        pretokenizer="whitespace")  # fmt: skip
    found = dict(zip(counts.words, word_scripts(counts), strict=True))
    assert found == {
        "low": "Latin", "низ": "Cyrillic", "漢字かな": "Han", "カナ": "Han", "क": "Devanagari",
        "12": "", "؟": "", "a漢": "Latin", "1ж": "Cyrillic", "🙂": "",
    }  # fmt: skip
    assert script_of("ａ") == "Latin"  # full width
    assert script_of("ª") == "" and script_of("𝐀") == ""
    assert script_of("가") == "Hangul" and script_of("ก") == "Thai" and script_of("א") == "Hebrew"


def test_splitting_by_script_loses_no_word() -> None:
    lines = [*text_of("ko", 200), *text_of("ar", 200), "низ 12 ;"]
    counts = volt.count([lines])
    parts = split_scripts(counts)
    assert set(parts) == {"Hangul", "Arabic"}  # one Cyrillic word is too few
    both: Counter[str] = Counter()
    for part in parts.values():
        assert not both.keys() & part.to_dict().keys()
        both.update(part.to_dict())
    assert both == counts.to_dict()


def test_vocabularies_per_script_are_joined(tmp_path: Path) -> None:
    texts = {code: [text_of(code, 300)] for code in ("ko", "ar", "hi")}
    lines = [lines for (lines,) in texts.values()]
    result = volt.learn_scripts(lines, sizes=rows(lines, 300, 600, 900))
    assert set(result.scripts) == {"Hangul", "Arabic", "Devanagari"}
    assert result.vocabulary.unreachable == []
    result.save(tmp_path / "out")
    tokenizer = volt.load(tmp_path / "out")
    for code in texts:
        for line in text_of(code, 20, seed=3):
            assert tokenizer.decode(tokenizer.encode(line)) == line
    for number, name in enumerate(result.scripts, 1):
        part = volt.load(tmp_path / "out" / "scripts" / name)
        id_map = np.load(tmp_path / "out" / f"id_map.{number}.npy")
        assert [tokenizer.tokens[i] for i in id_map] == part.tokens
    assert json.loads((tmp_path / "out" / "choices.json").read_text())["scripts"].keys() == (
        result.scripts.keys()
    )
    with pytest.raises(
        SettingsError, match=r"only one script has enough words of its own \(Hangul\)"
    ):
        volt.learn_scripts([texts["ko"][0]])
    with pytest.raises(SettingsError, match="leave `size` out"):
        volt.learn_scripts([texts["ko"][0]], size=500)


# ----------------------------------------------------------------------------------- names of files


def test_languages_by_the_names_of_files(tmp_path: Path) -> None:
    names = (
        "train.de", "train.fr.gz", "train.cs.zstd", "it.txt", "nl/a.txt", "nl/b.txt", ".no",
        "a.b-c.pt",
    )  # fmt: skip
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x\n")
    found = find_languages([str(tmp_path)])
    assert {code: [Path(f).name for f in files] for code, files in found.items()} == {
        "cs": ["train.cs.zstd"], "de": ["train.de"], "fr": ["train.fr.gz"], "it": ["it.txt"],
        "nl": ["a.txt", "b.txt"], "pt": ["a.b-c.pt"],
    }  # fmt: skip
    assert find_languages([f"{tmp_path}/train.de:2.5"]) == {"de": [f"{tmp_path}/train.de:2.5"]}


def test_small_files_are_counted_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[str, Any] = {}
    for code in ("de", "en"):
        (tmp_path / code).write_text(f"one {code}\n")
        texts[code] = volt.Files([str(tmp_path / code)])
    asked: list[int] = []

    def counted(text: Any, threads: int, **options: Any) -> WordCounts:
        asked.append(threads)
        return volt.count(text, threads=threads, **options)

    monkeypatch.setattr("volt.languages.balance.count", counted)
    count_languages(texts, threads=2)
    assert asked == [1, 1]


def test_options_that_contradict_each_other() -> None:
    texts = {"ko": [text_of("ko", 5)]}
    with pytest.raises(SettingsError, match="not by both"):
        volt.learn_languages(texts, temperature=5, weights={"ko": 2})
    with pytest.raises(SettingsError, match="'xx', which is none of ko"):
        volt.learn_languages(texts, weights={"xx": 2})
    with pytest.raises(SettingsError, match="there is no option `colour`"):
        volt.learn_languages(texts, colour=1)
    with pytest.raises(InputError, match="there are no words in the text of ar"):
        volt.learn_languages({**texts, "ar": [[""]]})


@pytest.mark.parametrize("languages", [60])
def test_sixty_languages(languages: int) -> None:
    codes = list(RANGES)
    texts = {f"l{i}": [text_of(codes[i % len(codes)], 10 + i, seed=i)] for i in range(languages)}
    result = volt.learn(texts, merges=2000, temperature="3.3")
    assert result.languages is not None and len(result.languages.rows) == languages
    told = "transport is solved at sizes from"
    assert any(told in message for message in result.choice.paper_notes)


def test_real_languages(volt_data) -> None:  # type: ignore[no-untyped-def]
    texts = {code: [volt_data(f"libreoffice20/valid.{code}")] for code in ("en", "ru", "ja", "ko")}
    result = volt.learn(texts)
    assert result.languages is not None
    rows = {row.code: row for row in result.languages.rows}
    assert rows["en"].parity == 1
    assert all(row.unknown_characters == 0 for row in rows.values())
    told = "transport is solved at sizes from"
    assert any(told in message for message in result.choice.paper_notes)
