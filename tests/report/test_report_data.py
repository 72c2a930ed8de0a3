"""report.json: every figure against a slow computation of the same."""

import json
import random
from itertools import pairwise

import numpy as np
import pytest

import volt
from volt import _core
from volt.cli.info import diagnostics
from volt.report.compact import packed_excerpt, packed_signed, packed_whole
from volt.report.data import collect, every_token_count, file_figures, load_report, overview
from volt.report.facts import facts
from volt.report.page import (
    MOST_BYTES,
    Material,
    embedded_json,
    load_material,
    make_page,
    page_data,
    token_files,
    unicode_ranges,
    uses,
)
from volt.tokenizing.build import build_vocabulary

MODES = ["metaspace", "whitespace", "byte-level"]


def corpus(seed, lines=150):
    generator = random.Random(seed)
    syllables = [a + b for a in "bdfgkst" for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(150)]
    types += ["aaa", "aaaa", "aaaaaaa", "naïve", "日本", "don't", "x1y2"]
    return [
        " ".join(types[int(len(types) * generator.random() ** 2)] for _ in range(7))
        for _ in range(lines)
    ]


SIZES = {"metaspace": "323:443:40", "whitespace": "72:192:40", "byte-level": "300:420:40"}
"""40 to 160 tokens besides special tokens, bytes and characters."""


def learned(mode="metaspace", **settings):
    return volt.learn(
        [corpus(1), corpus(2)], pretokenizer=mode, sizes=SIZES[mode], merges=400, **settings
    )


@pytest.mark.parametrize("mode", MODES)
def test_words_that_are_one_token_at_every_size(mode):
    result = learned(mode)
    found = result.candidates
    share = found.one_token_words(int(result.counts.counts.sum()))
    assert len(share) == len(result.curve)
    for merges in (0, 1, 17, 100, found.merges):
        start = found.alphabet_size
        vocabulary = build_vocabulary(found, range(start, start + merges), merge_rule="pairs")
        _, offsets = volt.Tokenizer(vocabulary).encode_words(result.counts)
        single = np.diff(offsets.astype(np.int64)) == 1
        assert share[merges] == pytest.approx(
            result.counts.counts[single].sum() / result.counts.counts.sum()
        )


@pytest.mark.parametrize("mode", MODES)
def test_the_corpus_is_measured_in_words_and_bytes(mode):
    result = learned(mode)
    figures = collect(result)["corpus"]
    lines = corpus(1) + corpus(2)
    assert figures["lines"] == len(lines)
    assert figures["spaced_words"] == sum(len(line.split()) for line in lines)
    tokens = sum(map(len, volt.Tokenizer(result.vocabulary).encode_batch(lines)))
    assert figures["tokens"] == tokens
    size = sum(len(line.encode()) for line in lines)
    spaces = sum(line.count(" ") for line in lines)
    expected = {"metaspace": size + len(lines), "whitespace": size - spaces, "byte-level": size}
    assert figures["bytes"] == expected[mode]
    assert figures["unknown_characters"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_without_spaces_between_words_nothing_is_told_per_word(mode, tmp_path):
    """Not in report.json, which the page shows, nor on the terminal, nor by volt info."""
    draw = random.Random(1)
    japanese = ["".join(draw.choices("日本語のかなとカナ漢字", k=20)) for _ in range(200)]
    words = ["".join(draw.choices("가나다라마바사아자차", k=3)) for _ in range(200)]
    korean = [" ".join(draw.choices(words, k=6)) for _ in range(100)]
    for lines, has_words in (
        (japanese, False), (korean, True), (japanese + corpus(1), False),
        (japanese[:3] + corpus(1), True),
    ):  # fmt: skip
        result = volt.learn([lines], size=200 if mode == "whitespace" else 320, pretokenizer=mode)
        report = collect(result)
        assert bool(report["corpus"]["spaced_words"]) == has_words
        assert [bool(one["words"]) for one in report["files"]] in ([], [has_words])
        shown = facts(result.vocabulary, result.summary(), report)
        assert ("tokens per word" in [one.name for one in shown]) == has_words
        result.save(tmp_path / "out", force=True)
        told = diagnostics(load_material(tmp_path / "out"))
        assert (told["tokens_per_word"] is not None) == has_words
        assert told["bytes_per_token"] > 0


@pytest.mark.parametrize("unknown", ["byte", "unk"])
def test_unknown_characters_are_counted_however_they_are_spelled(unknown):
    lines = [*corpus(1), "ŵ 語 語"]
    result = volt.learn(
        [lines], sizes=SIZES["metaspace"], merges=400, coverage=0.995, unknown=unknown
    )
    known = set(result.vocabulary.of_kind("character"))
    missing = sum(c.replace(" ", "▁") not in known for line in lines for c in line)
    assert missing > 0
    assert collect(result)["corpus"]["unknown_characters"] == missing


def test_weights_are_taken_out():
    plain = collect(learned())["corpus"]
    half = volt.learn([corpus(1), corpus(2)], sizes=SIZES["metaspace"], merges=400, weights=0.5)
    figures = collect(half)["corpus"]
    assert half.counts.unit == 2
    assert figures["words"] == plain["words"] / 2
    assert figures["characters"] == plain["characters"] / 2


def test_the_curve_is_that_of_the_candidates():
    result = learned()
    curve = collect(result)["curve"]
    rows = [result.curve.at_size(size) for size in curve["size"]]
    assert curve["entropy"] == pytest.approx(result.curve.entropy_types[rows], rel=1e-5)
    assert curve["tokens"] == result.curve.tokens[rows].tolist()
    assert curve["size"] == result.curve.size[rows].tolist()
    for choice in result.choices:
        if choice.size is not None:
            assert choice.size in curve["size"]


@pytest.mark.parametrize("settings", [{}, {"criterion": "muv"}, {"size": 600}], ids=str)
def test_the_plan_is_that_of_the_size_that_the_paper_chooses(settings):
    result = learned(**settings)
    transport = collect(result)["transport"]
    best = max(result.steps[1:], key=lambda step: step.muv)
    assert (transport["size"], transport["s"]) == (best.size, best.s)
    for token in transport["tokens"]:
        assert token["got"] == pytest.approx(token["asked"], rel=0.0101)
    asked = [token["asked"] for token in transport["tokens"]]
    assert asked == sorted(asked, reverse=True)


@pytest.mark.parametrize("mode", MODES)
def test_tokens_are_there_at_every_size(mode):
    curve = learned(mode).curve
    found = every_token_count(curve)
    tokens = [found["tokens"]]
    for saved, sizes in found["runs"]:
        tokens += [tokens[-1] - saved * i for i in range(1, sizes + 1)]
    assert found["size"] == curve.size[0]
    assert tokens == curve.tokens.tolist()
    # Equal ones are not repeated, and of one size there is nothing to tell.
    assert all(a[0] != b[0] for a, b in pairwise(found["runs"]))
    assert every_token_count(curve.at(np.array([0])))["runs"] == []


def test_tokens_are_there_at_the_sizes_that_were_measured():
    curve = volt.learn([corpus(1)], candidates="substring:100", sizes="330,340,350").curve
    found = every_token_count(curve)
    assert found == {"sizes": curve.size.tolist(), "tokens": curve.tokens.tolist()}


def test_dropped_tokens_are_listed():
    result = learned(epsilon=1.0, threshold=0.9, gamma=0.01)
    transport = collect(result)["transport"]
    step = next(step for step in result.steps if step.size == transport["size"])
    assert transport["dropped"] == step.dropped > 0
    assert len(transport["dropped_tokens"]) == min(step.dropped, 200)
    for token in transport["dropped_tokens"]:
        assert token["got"] < 0.9 * token["asked"] * (1 + 1e-5)


def test_files_are_measured_on_their_lines():
    one, two = corpus(1), corpus(2, lines=150)
    result = volt.learn([one, two], sizes=SIZES["metaspace"], merges=400)
    tokenizer = volt.Tokenizer(result.vocabulary)
    first, second = file_figures(result.counts, tokenizer)
    assert (first["name"], second["name"]) == ("text 1", "text 2")
    assert first["parity"] == 1
    tokens = [sum(map(len, tokenizer.encode_batch(lines))) for lines in (one, two)]
    assert [first["tokens"], second["tokens"]] == tokens
    assert second["parity"] == pytest.approx(tokens[1] / tokens[0], rel=1e-5)
    assert first["parallel"]


def test_files_of_different_length_have_no_parity():
    one, two = corpus(1), corpus(2, lines=60)
    result = volt.learn([one, two], sizes=SIZES["metaspace"], merges=400)
    first, second = file_figures(result.counts, volt.Tokenizer(result.vocabulary))
    assert not first["parallel"]
    assert second["sampled_lines"] == 60
    assert first["parity"] is second["parity"] is None


def test_lines_of_a_sample_are_not_parallel_and_parts_of_a_mixture_have_their_names(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("low lower lowest flow blow\n" * 60)
    inputs = [f"web={tmp_path / 'a.txt'}", f"code={tmp_path / 'b.txt'}"]
    result = volt.learn(inputs, mix="code=0.5,web=0.5", size=278, splits=1)
    files = collect(result)["files"]
    assert [one["name"] for one in files] == ["web", "code"]
    assert [(one["parallel"], one["parity"]) for one in files] == [(False, None)] * 2
    shown = {one.name: one for one in facts(result.vocabulary, result.summary(), overview(result))}
    assert shown["sample"].value == "120 of 120 lines"
    assert shown["mixture"].value == "code 50.0%, web 50.0%"
    assert shown["mixture"].note == "asked for 50.0%, 50.0%"
    assert shown["text"].note.endswith(" words as the pre-tokenizer cuts them")
    assert shown["tokens per word"].note == "600 words between spaces"


def test_files_are_measured_on_lines_from_all_over(tmp_path, monkeypatch):
    monkeypatch.setattr("volt.counting.excerpts.EXCERPT", 4000)
    lines = ["a cat sat on a mat"] * 1000 + ["der Hund im Haus"] * 1000
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "short").write_text("no line end")
    records = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    (tmp_path / "rows.jsonl").write_text(records)
    counts = volt.count([tmp_path / "text", tmp_path / "short", tmp_path / "rows.jsonl"])
    counts.save(tmp_path / "counts")
    again = volt.count([tmp_path / "counts", tmp_path / "short"])
    long, short, rows = counts.excerpts
    assert 1000 < len(long.text) <= 4000
    assert long.lines == [f"{lines[number]}\n".encode() for number in long.numbers.tolist()]
    assert 0.3 < long.lines.count(b"der Hund im Haus\n") / len(long.lines) < 0.7
    assert rows.lines == long.lines
    assert short.text == b"no line end"
    assert [one.text for one in again.excerpts] == [b"", b"no line end"]
    assert [one["name"] for one in file_figures(again, volt.Tokenizer(learned().vocabulary))] == [
        "short"
    ]


def test_parity_of_long_files_is_that_of_the_same_lines(tmp_path, monkeypatch):
    monkeypatch.setattr("volt.counting.excerpts.EXCERPT", 4000)
    lines = [f"{line} {i}" for i, line in enumerate(corpus(1))]
    double = [f"{line} {line}" for line in lines]
    paths = [tmp_path / name for name in ("one", "two")]
    for path, some in zip(paths, (lines, double), strict=True):
        path.write_text("".join(f"{line}\n" for line in some), encoding="utf-8")
    first, second = file_figures(volt.count(paths), volt.Tokenizer(learned().vocabulary))
    assert 0 < first["sampled_lines"] == second["sampled_lines"] < len(lines)
    assert second["parity"] == 2


def test_folders_do_not_show_in_names(tmp_path):
    folder = tmp_path / "secret"
    folder.mkdir()
    (folder / "text.en").write_text("\n".join(corpus(1)), encoding="utf-8")
    result = volt.learn([folder / "text.en"], sizes=SIZES["metaspace"], merges=400)
    result.save(tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        assert b"secret" not in path.read_bytes(), path.name
    assert load_report(tmp_path / "out" / "report.json")["files"][0]["name"] == "text.en"


def test_the_same_text_gives_the_same_bytes(tmp_path):
    learned().save(tmp_path / "one")
    learned(threads=1).save(tmp_path / "two")
    for name in ("report.json", "report.html"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_page_or_none(tmp_path):
    learned().save(tmp_path / "out", report=False)
    names = sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert names == ["choices.json", "curve.csv", "signature.txt", "volt.json"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[1]", "is not a table"),
        ("{", "is not JSON"),
        ('{"format": 1}', "report format 1, this volt reads 3: learn again"),
        ('{"format": 9}', "format 9, this volt reads 3: use the version of volt that wrote it"),
        ('{"format": "x"}', "format: 'x' is not a whole number"),
    ],
)
def test_a_damaged_report_is_an_error_that_names_it(tmp_path, content, words):
    (tmp_path / "report.json").write_text(content)
    with pytest.raises(volt.InputError, match=words):
        load_report(tmp_path / "report.json")


def test_a_report_of_the_format_before_is_read(tmp_path):
    """Without the tokens at every size, and choices that know neither quality nor cost."""
    result = learned(criterion="muv")
    result.save(tmp_path / "out")
    report = json.loads((tmp_path / "out" / "report.json").read_bytes())
    del report["tokens"]
    (tmp_path / "out" / "report.json").write_text(json.dumps(report | {"format": 2}))
    kept = ("signature", "source", "criterion", "size", "steps")
    choices = {name: result.summary()[name] for name in kept}
    names = ("criterion", "size", "value", "meaning", "doubts")
    choices["choices"] = [{name: one[name] for name in names} for one in result.summary()["choices"]
                          if one["criterion"] not in ("auto", "heldout")]  # fmt: skip
    (tmp_path / "out" / "choices.json").write_text(json.dumps(choices))
    material = load_material(tmp_path / "out")
    data = page_data(material)
    assert data["tokens"] is None
    assert data["answer"]["why"].startswith("chosen by muv, ")
    assert make_page(material).startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda choices: choices.pop("steps"), "steps"),
        (lambda choices: choices["quality"].pop("splits"), "splits"),
        (lambda choices: choices["steps"][0].update(moved="x"), "moved"),
        (lambda choices: choices.update(overlap_with_bpe=2), "overlap_with_bpe"),
    ],
)
def test_choices_that_the_page_cannot_draw_are_an_error_that_names_it(tmp_path, change, words):
    learned().save(tmp_path / "out")
    path = tmp_path / "out" / "choices.json"
    choices = json.loads(path.read_bytes())
    change(choices)
    path.write_text(json.dumps(choices))
    with pytest.raises(volt.InputError, match=words):
        load_material(tmp_path / "out")


# ------------------------------------------------------------------------------------- for the page


def unpacked(text):
    import base64

    numbers, value, shift = [], 0, 0
    for byte in base64.b64decode(text):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers


def test_numbers_are_packed_and_come_back():
    numbers = [0, 1, 127, 128, 300, 2**32, 2**53, 2**63, *range(0, 20000, 7)]
    assert unpacked(packed_whole(numbers)) == numbers
    assert packed_whole([]) == ""
    signed = np.array([0, -1, 1, -2, 2, 1000, -1000])
    assert unpacked(packed_signed(signed)) == [0, 1, 2, 3, 4, 2000, 1999]


PAGE_CLASSES = [
    (0, 0, False), (1, 0, False), (2, 0, False), (3, 0, False), (4, 0, False),
    (1, 1, False), (1, 2, False), (0, 0, True),
]  # fmt: skip
"""Class, case and whether it is a sign, for each class of words.js."""


def classes_of(code_point):
    found = _core.unicode_class(code_point)
    case = _core.letter_case(code_point) if found == 1 else 0
    return found, case, found == 0 and _core.is_sign(code_point)


def test_the_page_has_volts_own_table_of_characters():
    version, ranges = unicode_ranges()
    assert version == _core.unicode_version
    numbers = unpacked(ranges)
    starts = np.cumsum(numbers[::2]).tolist()
    for (start, end), kind in zip(pairwise([*starts, 0x110000]), numbers[1::2], strict=True):
        assert {classes_of(c) for c in range(start, end)} == {PAGE_CLASSES[kind]}


def test_data_cannot_end_their_element():
    hostile = "</script><!--&\u2028\u2029"
    text = embedded_json({hostile: hostile})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {hostile: hostile}


def test_a_page_too_large_is_shortened_and_says_so(monkeypatch):
    result = learned(size=400)
    material = Material(result.vocabulary, result.summary(), collect(result))
    page = make_page(material)
    assert b"left out to keep this page below 3 MB" not in page
    bpe = len(embedded_json(page_data(material)["bpe"]))
    monkeypatch.setattr("volt.report.page.MOST_BYTES", len(page) - 1)
    assert b"BPE of twice the size is left out" in make_page(material)
    monkeypatch.setattr("volt.report.page.MOST_BYTES", len(page) - bpe + 100)
    assert b"Plain BPE is left out" in make_page(material)
    monkeypatch.setattr("volt.report.page.MOST_BYTES", len(page) - bpe - 100)
    monkeypatch.setattr("volt.report.page.EXCERPT", 20)
    assert b"The vocabulary is too large" in make_page(material)


@pytest.mark.parametrize("encoding", ["merge", "split"])
def test_an_excerpt_has_the_most_frequent_tokens_and_what_they_are_made_from(encoding):
    vocabulary = learned(encoding=encoding).vocabulary
    data = packed_excerpt(vocabulary, 20)
    ids = np.cumsum(unpacked(data["ids"])).tolist()
    merged = [i for i, token in enumerate(vocabulary.pool) if token.kind == "merged"]
    kept = [i for i in ids if vocabulary.pool[i].kind == "merged"]
    assert 20 <= len(kept) < len(merged)
    assert data["all"] == len(vocabulary)
    best = max((i for i in merged if i < len(vocabulary)),
               key=lambda i: vocabulary.tokens[i].frequency)  # fmt: skip
    assert best in kept
    left, right = unpacked(data["left"]), unpacked(data["right"])
    for number, a, b in zip(kept, left, right, strict=True):
        assert vocabulary.pool[number].parents == (ids[a], ids[b])


def test_a_hundred_thousand_tokens_fit():
    generator = random.Random(3)
    words = {
        "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9)))
        for _ in range(150_000)
    }
    lines = [[f"{word} " * generator.randint(2, 6) for word in sorted(words)]]
    result = volt.learn(lines, merges=100_000, sizes="1000,100000", size=99_000)
    assert len(result.vocabulary) == 99_000
    page = make_page(Material(result.vocabulary, result.summary(), collect(result)))
    assert len(page) < MOST_BYTES


def test_token_files_are_named_for_a_language_model():
    (one,) = token_files(learned("byte-level").vocabulary)
    assert one["command"] == "volt encode -m . TEXT --as bin -o train.bin"
    assert one["then"] == 'np.memmap("train.bin", "uint16", "r")'
    bare = learned("byte-level", special=["<pad>"]).vocabulary
    assert token_files(bare)[0]["command"].endswith(" --no-document-eos")
    assert not any("train.de" in use["then"] for use in uses(bare))
    assert token_files(learned().vocabulary) == []
    assert any("train.de" in use["then"] for use in uses(learned().vocabulary))
