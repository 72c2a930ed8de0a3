"""The answer through the command line: every kind of input gets one, or a message; and terminal,
page, choices.json and Python say the same numbers."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import volt
from volt.report.answer import answer
from volt.settings import in_flags

VOLT = Path(sys.executable).with_name("volt")
CHINESE = [chr(0x4E00 + i) for i in range(600)]
"""More characters than there are words."""


def prose(seed, letters, lines):
    generator = random.Random(seed)
    syllables = [a + b for a in letters for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(900)]
    return [
        " ".join(types[int(900 * generator.random() ** 3)] for _ in range(8)) for _ in range(lines)
    ]


def run(folder, *arguments):
    done = subprocess.run(
        [VOLT, *map(str, arguments)], capture_output=True, timeout=600, cwd=folder, text=True
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def learn(folder, *arguments, out="out"):
    """What `volt learn` prints, and choices.json."""
    code, err = run(folder, "learn", *arguments, "-o", out, "--force", "--no-report")
    assert code == 0, err
    return err, json.loads((folder / out / "choices.json").read_text(encoding="utf-8"))


def check(folder, err, found, out="out"):
    """The first lines are those of choices.json, and the size is that of the vocabulary."""
    lines = [in_flags(line) for line in answer(found).lines]
    assert " ".join(" ".join(lines).split()) in " ".join(err.split())
    assert max(map(len, err.splitlines())) <= 80
    assert len(volt.load_vocabulary(folder / out)) == found["size"]
    if found["criterion"] == "auto" and found["range"] is not None:
        low, high = found["range"]
        assert low <= found["size"] <= high
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    texts = {
        "word": ["word"],
        "blank": ["", " ", ""],
        "ten": prose(1, "bdfgkmnprst", 10),
        "repeated": ["a" * 5000],
        "words": ["a a a a a a"] * 500,
        "chinese": CHINESE,
        "more": prose(1, "bdfgkmnprst", 400),
        "other": prose(2, "bcdhjlmvwxz", 400),
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "reason", "words"),
    [
        ("word", "only", "the only size, for the text gives nothing to merge"),
        ("blank", "only", "the only size"),
        ("chinese", "only", "the only size"),
        ("words", "merges", "the largest size that there is"),
        (
            "ten",
            "quality",
            "no measurable quality, the upper end of the range: the cost still falls there",
        ),
        ("repeated", None, "no measurable quality"),
        (
            "more",
            "quality",
            "no measurable quality, the upper end of the range: the cost still falls there",
        ),
    ],
)
def test_little_and_odd_text_gets_an_answer_that_says_what_decided(folder, name, reason, words):
    err, found = learn(folder, name)
    head = check(folder, err, found)
    assert words in head
    assert reason in (None, found["reason"])
    if found["reason"] == "quality":
        assert "more text raises both: add text if you have more" in " ".join(err.split())
    if found["reason"] in ("only", "merges"):
        assert "ends decided" not in err  # said once, in the first lines


def test_no_text_at_all_is_a_message(folder):
    (folder / "empty").write_text("")
    code, err = run(folder, "learn", "empty", "-o", "none")
    assert (code, err) == (2, "volt: empty has no words: there is nothing to learn from\n")
    assert not (folder / "none").exists()


@pytest.mark.parametrize("pretokenizer", ["metaspace", "whitespace", "byte-level"])
def test_an_alphabet_larger_than_all_words(tmp_path, pretokenizer):
    lines = ["".join(random.Random(i).choices(CHINESE, k=9)) for i in range(200)]
    (tmp_path / "text").write_text("\n".join(lines), encoding="utf-8")
    err, found = learn(tmp_path, "text", "--pretokenizer", pretokenizer)
    check(tmp_path, err, found)
    if pretokenizer != "byte-level":
        assert found["size"] >= len(CHINESE) > len(lines)


def test_a_counts_file_gives_the_answer_of_its_text(folder):
    assert run(folder, "count", "more", "-o", "more.tsv", "--force")[0] == 0
    err, found = learn(folder, "more.tsv")
    check(folder, err, found)
    assert found == learn(folder, "more")[1]


def test_weights_move_merges_and_tokens_but_not_what_is_held_out(folder):
    """A weight for everything changes the unit of the counts, and nothing else."""
    err, once = learn(folder, "more", "other")
    check(folder, err, once)
    err, half = learn(folder, "more", "other", "--weight", "3/2")
    check(folder, err, half)
    kept = ("size", "reason", "range", "splits", "quality")
    assert {name: half[name] for name in kept} == {name: once[name] for name in kept}
    err, unequal = learn(folder, "more", "other", "--weight", "5", "--weight", "1")
    check(folder, err, unequal)
    assert unequal["quality"]["scores"] != once["quality"]["scores"]


def test_twenty_languages_have_a_best_size_each(folder):
    codes = [f"{a}{b}" for a in "abcde" for b in "wxyz"]
    for place, code in enumerate(codes):
        letters = "".join(chr(0x430 + (3 * place + i) % 32) for i in range(6))
        (folder / f"text.{code}").write_text("\n".join(prose(place, letters, 40)))
    arguments = [part for code in codes for part in ("--lang", f"{code}=text.{code}")]
    err, found = learn(folder, *arguments)
    check(folder, err, found)
    assert "mean of 20 languages" in " ".join(err.split())
    quality = found["quality"]
    assert list(quality["languages"]) == codes
    # The mean of what each language loses against its own best, and the best of that mean.
    assert min(score for score in quality["scores"] if score is not None) >= 1
    table = {line.split()[0]: line for line in err.splitlines() if line.split()}
    for code in codes:
        assert f"{quality['languages'][code]['best']:,}" in table[code].split()


def test_a_given_size_is_measured_on_one_split(folder):
    err, found = learn(folder, "more", "--size", "500")
    assert check(folder, err, found) == "500 tokens: the size you gave"
    assert len(found["quality"]["splits"]) == 1
    assert "  repeated  " not in err
    assert "  auto      would choose " in err


def test_each_side_alone(folder):
    arguments = ["--separate", "--source", "more", "--target", "other", "--no-report"]
    code, err = run(folder, "learn", *arguments, "-o", "both", "--force")
    assert code == 0
    for side, name in (("source", "more"), ("target", "other")):
        written = (folder / "both" / side / "choices.json").read_text(encoding="utf-8")
        check(folder, err, json.loads(written), f"both/{side}")
        # Only both sides together tell how many pairs there are.
        (note,) = json.loads(written)["messages"]
        assert note.startswith("with fewer than 100,000 pairs")
        assert json.loads(written) == learn(folder, name)[1] | {"messages": [note]}


@pytest.mark.parametrize("source", ["unigram:400", "substring:400", "wordpiece:400"])
def test_candidates_without_merges_are_proposed_again_from_one_split(folder, source):
    err, found = learn(folder, "more", "--candidates", source)
    check(folder, err, found)
    quality = found["quality"]
    assert len(quality["splits"]) == 1
    last = max(row["size"] for row in csv_rows(folder / "out" / "curve.csv"))
    assert quality["sizes"] == sorted(set(quality["sizes"]))
    assert quality["sizes"][-1] <= last


def csv_rows(path):
    head, *rows = (line.split(",") for line in path.read_text().splitlines())
    return [{"size": int(row[head.index("size")])} for row in rows]


def test_other_readings_of_the_paper_are_not_repeated_on_splits(folder):
    """Their sizes are not those that the paper's transport would choose there."""
    for profile in ("literal", "released"):
        err, found = learn(folder, "more", "--profile", profile)
        check(folder, err, found)
        assert found["splits"] == []
        assert "  again" not in err
    err, found = learn(folder, "more", "--profile", "paper")
    assert check(folder, err, found).startswith(f"{found['size']:,} tokens: chosen by muv")
    assert len(found["splits"]) == 5
    assert "  auto      would choose " in err


# -------------------------------------------------------------------------------- the same numbers


@pytest.fixture(scope="module")
def reported(folder):
    code, err = run(folder, "learn", "more", "other", "-o", "reported")
    assert code == 0
    return err


def test_terminal_page_file_and_python_say_the_same(folder, reported):
    result = volt.learn([folder / "more", folder / "other"])
    choice, quality = result.choice, result.quality
    written = json.loads((folder / "reported" / "choices.json").read_text(encoding="utf-8"))
    assert (choice.size, choice.reason) == (written["size"], written["reason"])
    assert (list(choice.range), list(choice.splits)) == (written["range"], written["splits"])
    assert (choice.mu, choice.price) == (written["mu"], written["price"])
    assert len(choice.splits) == 5
    assert written["quality"] == quality.summary()
    assert check(folder, reported, written, "reported").startswith(f"{choice.size:,} tokens: ")
    low, high = choice.range
    for number in (low, high, quality.best, min(choice.splits), max(choice.splits)):
        assert f" {number:,}" in reported
    page = (folder / "reported" / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    shown = json.loads(data)
    assert shown["choices"]["quality"] == written["quality"]
    assert shown["choices"]["size"] == shown["answer"]["size"] == choice.size
    assert shown["answer"]["rows"] == [
        [name, in_flags(sentence)] for name, sentence in answer(written).rows
    ]
    # The figures of the page are those of the terminal, word by word.
    folded = " ".join(reported.split())
    for fact in shown["facts"]:
        said = f"{fact['value']} ({fact['note']})" if fact["note"] else fact["value"]
        assert fact["name"] == "text" or f" {fact['name']} {said}" in folded, fact


def test_the_quality_curve_is_a_table_in_python(folder):
    pytest.importorskip("pandas")
    result = volt.learn([folder / "more"])
    table = result.quality.to_frame()
    assert [*table] == ["size", "score", *(f"split_{i}" for i in range(1, 6))]
    assert table["size"].tolist() == result.quality.sizes.tolist()
    reached = table.dropna()
    assert len(reached) > 10
    assert reached["score"].to_numpy() == pytest.approx(reached.iloc[:, 2:].mean(axis=1).to_numpy())
