"""Ladders: several sizes from one run, each contained in the next."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import volt
from volt import InputError, SettingsError
from volt.ladder import ladder_sizes

VOLT = Path(sys.executable).with_name("volt")
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
LINES = [
    " ".join(SYLLABLES[n * k % 60] + SYLLABLES[n * n * k % 59] for k in (7, 11, 13))
    + " the lazy fox"
    for n in range(300)
]


def test_names_are_as_they_were_written():
    assert ladder_sizes("8k, 16K,32000") == {8000: "8k", 16_000: "16K", 32_000: "32000"}
    assert ladder_sizes([8000, 500]) == {500: "500", 8000: "8000"}
    assert ladder_sizes("1k:3k:1k") == {1000: "1k", 2000: "2k", 3000: "3k"}


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level", "whitespace"])
def test_vocabularies_are_nested_and_as_if_learned_alone(pretokenizer):
    most = int(volt.candidates([LINES], pretokenizer=pretokenizer).curve.size[-1])
    sizes = [most - 60, most - 1, most]
    ladder = volt.learn([LINES], pretokenizer=pretokenizer, ladder=[sizes[1], sizes[0], sizes[2]])
    assert list(ladder) == sizes
    before = None
    for size, result in ladder.items():
        assert len(result.vocabulary) == size
        alone = volt.learn([LINES], pretokenizer=pretokenizer, size=size)
        assert alone.vocabulary.texts == result.vocabulary.texts
        if before is not None:
            assert result.vocabulary.texts[: len(before)] == before
        before = result.vocabulary.texts
        assert result.tokenizer.decode(result.tokenizer.encode("the lazy fox")) == "the lazy fox"


def test_the_table(tmp_path):
    ladder = volt.learn([LINES], ladder="350,420")
    for row in ladder.rows():
        result = ladder[row["size"]]
        tokens = sum(len(ids) for ids in result.tokenizer.encode_batch(LINES))
        assert row["tokens"] == tokens
        text = sum(len(line.encode()) + 1 for line in LINES)
        assert row["bytes_per_token"] == pytest.approx(text / tokens)
        assert row["cost"] == tokens * (44e6 + row["size"] * 512)
        assert 0 < row["heldout"] < 8
    assert ladder.rows()[0]["tokens"] > ladder.rows()[1]["tokens"]
    ladder.save(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.name[0] != ".") == [
        "350", "420", "ladder.csv",
    ]  # fmt: skip
    with (tmp_path / "out" / "ladder.csv").open() as stream:
        assert [int(row["size"]) for row in csv.DictReader(stream)] == [350, 420]
    assert len(volt.load(tmp_path / "out" / "420")) == 420
    with pytest.raises(InputError, match=r"has a vocabulary per size; name one of .*350, .*420$"):
        volt.load(tmp_path / "out")


@pytest.mark.parametrize(
    "other",
    [{"profile": "paper"}, {"size": 400}, {"criterion": "muv"}, {"rank": "frequency"},
     {"candidates": "unigram:200"}],
)  # fmt: skip
def test_what_is_not_nested_is_refused(other):
    with pytest.raises(SettingsError, match="`ladder`"):
        volt.learn([LINES], ladder=[350, 400], **other)


def test_a_size_that_the_text_does_not_give_is_said_before_any_work():
    words = (
        r"`ladder` has 9,000, but vocabularies of this text have \d+ rows .* to \d+ "
        r"\(all merges\): `ladder=350` fits"
    )
    with pytest.raises(InputError, match=words):
        volt.learn([LINES], ladder="9k,350")
    with pytest.raises(InputError, match="`ladder` has 20"):
        volt.learn([LINES], ladder="350,20")


def test_the_command(tmp_path):
    (tmp_path / "text").write_text("\n".join(LINES))
    command = [VOLT, "learn", "text", "--ladder", "350,400", "-o", "out", "--no-report"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    head, *rows = (line.replace("*", "").split() for line in done.stdout.splitlines())
    assert [head[0], *(row[0] for row in rows)] == ["size", "350", "400"]
    alone = volt.learn([LINES], size=350, splits=1).choice.verdicts[0].size
    assert f"alone, volt would choose about {alone:,}, by one part of the text" in done.stderr
    found = json.loads((tmp_path / "out/400/choices.json").read_text())
    assert (found["size"], found["reason"]) == (400, "size")


def test_the_cheapest_size_is_the_one_to_go_on_with(tmp_path):
    most = int(volt.candidates([LINES]).curve.size[-1])
    (tmp_path / "text").write_text("\n".join(LINES))
    command = [VOLT, "learn", "text", "--ladder", f"{most - 60},{most}", "-o", "out", "--no-report"]
    model = ["--for-model", "1000:8192"]  # rows are what it costs, and the last ones save little
    done = subprocess.run([*command, *model], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert f"next: volt export -m out/{most - 60} " in done.stderr


def test_a_cheaper_size_that_costs_quality_is_not_the_one_to_go_on_with(monkeypatch):
    found = volt.learn([LINES], ladder=[350, 400])
    for inside, best in [([350, 400], 400), ([350], 350), ([400], 400), ([], 400)]:
        rows = [
            {"size": size, "cost": cost, "in_range": size in inside}
            for size, cost in ((350, 2.0), (400, 1.0))
        ]
        monkeypatch.setattr(volt.Ladder, "rows", lambda _, rows=rows: rows)
        assert found.cheapest == best


def test_what_results_print():
    """An answer or a table, not every figure inside."""
    found = volt.learn([["low lower lowest flow blow"] * 30], size=278)
    assert repr(found) == "<LearnResult: 278 tokens: the size you gave>"
    found = volt.learn([["low lower lowest flow blow"] * 30], ladder=[272, 278])
    assert repr(found).splitlines() == ["<Ladder:", *found.table(), ">"]
    text = [["low lower lowest flow blow"] * 30]
    counts, found = volt.count(text), volt.learn(text, size=278)
    assert repr(counts) == "<WordCounts: 150 words, 5 types, metaspace>"
    assert repr(found.vocabulary) == "<Vocabulary: 278 tokens, metaspace, merge>"
    assert repr(volt.join([found.vocabulary] * 2)) == "<Joined: 278 tokens of 2 vocabularies>"
    assert repr(found.curve) == (
        f"<Curve: {len(found.curve)} sizes, 270 to {found.curve.size[-1]} tokens>"
    )
    for one in (
        found.candidates,
        found.quality,
        found.choice,
        found.tokenizer,
        volt.search(text, sizes=[272, 278]),
        volt.refit(found.vocabulary, text, size=272),
    ):
        assert len(repr(one)) < 80 and "\n" not in repr(one) and "Rule(" not in repr(one)
