"""`volt learn` and `volt search`, run as people run them."""

import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import volt
from volt.report.answer import answer
from volt.settings import in_flags

VOLT = Path(sys.executable).with_name("volt")
ARTIFACTS = ["choices.json", "curve.csv", "signature.txt", "volt.json"]
"""The same for the same text, however it comes; the report names files."""
REPORT = ["report.html", "report.json"]
FAST = ["--sizes", "316:476:40", "--candidates", "bpe:300"]


def lines_of(seed, letters, lines=120):
    generator = random.Random(seed)
    syllables = [a + b for a in letters for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(200)]
    return [
        " ".join(types[int(200 * generator.random() ** 2)] for _ in range(6)) for _ in range(lines)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A parallel pair, one that is not, and what `volt learn` makes of the first."""
    folder = tmp_path_factory.mktemp("text")
    english, german = lines_of(1, "bdfgm"), lines_of(2, "kprst")
    (folder / "train.en").write_text("\n".join(english) + "\n")
    (folder / "train.de").write_text("\n".join(german) + "\n")
    (folder / "short.de").write_text("\n".join(german[:-7]) + "\n")
    return folder


@pytest.fixture(scope="module")
def joint(folder):
    return run(folder, "learn", "train.en", "train.de", "-o", "joint", "--json", *FAST)


@pytest.fixture(scope="module")
def separate(folder):
    return run(
        folder, "learn", "--separate", "--source", "train.en", "--target", "train.de", "-o",
        "separate", "--json", *FAST,
    )  # fmt: skip


def run(folder, *arguments, **options):
    result = subprocess.run(
        [VOLT, *map(str, arguments)], capture_output=True, timeout=600, cwd=folder, **options
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def learned(folder, *names):
    """The same from Python."""
    return volt.learn([folder / name for name in names], sizes="316:476:40", merges=300)


def artifacts(folder):
    assert sorted(path.name for path in Path(folder).iterdir()) == sorted(
        [".volt-files.json", *ARTIFACTS, *REPORT]
    )
    return {name: Path(folder, name).read_bytes() for name in ARTIFACTS}


# -------------------------------------------------------------------------------------------- learn


def test_one_command_writes_what_python_writes(folder, joint, tmp_path):
    assert joint[0] == 0
    learned(folder, "train.de", "train.en").save(tmp_path / "out")
    assert artifacts(folder / "joint") == artifacts(tmp_path / "out")
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_json_on_stdout_is_choices_json_and_what_else_the_summary_says(folder, joint):
    printed = json.loads(joint[1])
    for name, value in json.loads((folder / "joint" / "choices.json").read_text()).items():
        assert printed.pop(name) == value
    result = learned(folder, "train.en", "train.de")
    curve = printed.pop("curve")
    rows = [result.curve.at_size(size) for size in curve["sizes"]]
    assert curve["entropy"] == result.curve.entropy_types[rows].tolist()
    assert sorted(printed.pop("files")) == sorted(f"joint/{n}" for n in [*ARTIFACTS, *REPORT])
    assert printed.pop("corpus")["lines"] == 240
    assert printed == {}


def test_the_summary_on_stderr_is_a_screen_with_the_choice_and_what_to_do_next(joint):
    _, out, err = joint
    summary = json.loads(out)
    assert "240 lines, 1,440 words" in err
    folded = " ".join(err.split())
    for line in answer(summary).lines:
        assert " ".join(in_flags(line).split()) in folded
    assert "; yours? --for-model" in folded
    assert f" vocabulary {summary['size']} tokens (" in folded
    assert " tokens per word " in folded
    for message in summary["messages"]:
        assert f"note: {in_flags(message)}" in folded
    lines = err.splitlines()
    (spark,) = [line for line in lines if "█" in line]
    assert {"█", "▁"} <= set(spark)
    files = "volt.json, curve.csv, choices.json, signature.txt, report.json, report.html"
    look = "look at: joint/report.html (the tokens, and what other sizes would lose)"
    assert f"written to joint: {files} {look} next: volt export" in folded
    assert lines[-2] == "next: volt export -m joint --to hf -o joint-hf"
    assert lines[-1] == "  for other toolkits: --to sentencepiece (also for Marian), fairseq, text"
    assert "not parallel" not in err
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in err


def test_quiet_is_silent_and_text_may_come_from_stdin(folder, tmp_path):
    data = (folder / "train.en").read_bytes()
    out = tmp_path / "out"
    assert run(folder, "learn", "-", "-o", out, "-q", *FAST, input=data) == (0, "", "")
    learned(folder, "train.en").save(tmp_path / "same")
    assert artifacts(out) == artifacts(tmp_path / "same")


def test_every_option_arrives(folder, tmp_path):
    options = [
        "--criterion", "mdl", "--for-model", "5000:4", "--seed", "7", "--splits", "2",
        "--rank", "frequency", "--length", "occurrences", "--gamma", "0.5", "--epsilon", "0.1",
        "--threshold", "0.01",
        "--encoding", "split", "--merge-rule", "pairs", "--unknown", "unk", "--special",
        "<unk>,<s>", "--symbol", "<2de>", "--symbol", "<2en>", "--coverage", "0.99",
        "--max-token-length", "6", "--min-frequency", "3", "--normalize", "nfkc",
        "--max-word-length", "30", "--threads", "2", "--sizes", "36:76:20",
        "--candidates", "bpe:200", "--pretokenizer", "metaspace",
    ]  # fmt: skip
    code, _, err = run(folder, "learn", "train.en", "-o", tmp_path / "out", *options)
    assert code == 0, err
    signature = (tmp_path / "out" / "signature.txt").read_text()
    for part in (
        "cand:bpe-200", "min:3", "cov:0.99", "long:6", "norm:nfkc", "cut:30", "s:32:72:20",
        "crit:mdl", "rank:frequency", "len:occurrences", "gamma:0.5", "eps:0.1", "thr:0.01",
        "model:5000:4", "splits:2", "seed:7", "enc:split", "rule:pairs", "unk:unk", "pre:metaspace",
    ):  # fmt: skip
        assert f"|{part}|" in signature
    vocabulary = volt.load_vocabulary(tmp_path / "out")
    assert vocabulary.texts[:4] == ["<unk>", "<s>", "<2de>", "<2en>"]


def test_a_fixed_size(folder, tmp_path):
    code, _, err = run(
        folder, "learn", "train.en", "-o", tmp_path / "out", *FAST, "--size", 250,
        "--pretokenizer", "whitespace",
    )  # fmt: skip
    assert code == 0, err
    assert "250 tokens: the size you gave\n" in err
    assert "  auto      would choose " in err
    assert "  vocabulary          250 tokens (" in err
    assert len(volt.load_vocabulary(tmp_path / "out")) == 250


# ------------------------------------------------------------------------------- source and target


def test_separate_writes_a_vocabulary_for_each_side(folder, separate, tmp_path):
    code, out, err = separate
    assert code == 0
    assert sorted(path.name for path in (folder / "separate").glob("[!.]*")) == ["source", "target"]
    assert "not parallel" not in err
    for side, name in (("source", "train.en"), ("target", "train.de")):
        assert re.search(rf"^{side}:\n\d+ lines, [\d,]+ words, [\d,]+ types\n", err, re.M)
        alone = learned(folder, name)
        # Only both sides together tell how many pairs there are.
        note = json.loads(out)[side]["messages"][-1]
        assert note.startswith("with fewer than 100,000 pairs")
        replace(alone, messages=[*alone.messages, note]).save(tmp_path / side)
        assert artifacts(folder / "separate" / side) == artifacts(tmp_path / side)
        written = (folder / "separate" / side / "choices.json").read_text(encoding="utf-8")
        assert json.loads(written).items() <= json.loads(out)[side].items()


def test_separate_folders_are_kept_and_replaced_as_a_whole(folder, separate):
    arguments = ["learn", "--separate", "--source", "train.de", "-o", "separate", *FAST]
    before = artifacts(folder / "separate" / "target")
    code, _, err = run(folder, *arguments, "--target", "missing.de", "--force")
    assert code == 2
    assert "no such file: missing.de" in err
    assert artifacts(folder / "separate" / "target") == before
    weights = ["--weight", "1", "--weight", "0.5"]  # for source and target
    code, _, err = run(folder, *arguments, "--target", "short.de", "--force", *weights)
    assert code == 0
    assert "warning: train.de has 120 lines, short.de has 113: they are not parallel" in err
    assert artifacts(folder / "separate" / "target") != before
    units = [volt.load_vocabulary(folder / "separate" / side).unit for side in ("source", "target")]
    assert units == [1, 2]


def test_folders_of_source_and_target_are_compared_file_by_file(folder, tmp_path):
    lines = {"en/1": 9, "en/2": 30, "en/3": 7, "de/1": 9, "de/2": 20, "de/3": 7}
    for name, number in lines.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("low lower lowest\n" * number)
    code, _, err = run(tmp_path, "learn", "--source", "en", "--target", "de", "-o", "out")
    assert code == 0
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert warnings == ["warning: en/2 has 30 lines, de/2 has 20: they are not parallel"]


def test_a_file_that_is_given_twice_is_told(tmp_path):
    (tmp_path / "t.en").write_text("low lower lowest\n" * 5)
    said = "warning: t.en is given 2 times, and its text counts as often\n"
    for files, told in ((["t.en", "t.en"], True), (["t.en"], False)):
        code, _, err = run(tmp_path, "learn", *files, "-o", "out", "--force")
        assert code == 0
        assert (said in err) == told


def test_a_pair_told_by_its_names_is_compared(tmp_path):
    (tmp_path / "t.en").write_text("low lower lowest\n" * 5)
    (tmp_path / "t.de").write_text("low lower lowest\n" * 6)
    code, _, err = run(tmp_path, "learn", "t.en", "t.de", "-o", "out")
    assert code == 0
    said = "warning: t.en has 5 lines, t.de has 6: they are not parallel"
    assert f"\n{said}\n" in err
    assert "100,000 pairs" not in err  # they are no pairs
    # Who asked for quiet gets it, too, and so does who looks at the page.
    sides = ["--source", "t.en", "--target", "t.de"]
    for arguments in (["t.en", "t.de"], sides, ["--separate", *sides]):
        quiet = ["learn", *arguments, "-o", "out", "--force", "-q"]
        code, _, err = run(tmp_path, *quiet)
        assert code == 0
        assert {*err.splitlines()} == {said}
    page = (tmp_path / "out" / "source" / "report.html").read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert said in json.loads(data)["answer"]["notes"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.en", "a.de"], ["a.en", "a.de", "--size", "278"],
        ["--source", "a.en", "--target", "b.txt"],
        ["--separate", "--source", "a.en", "--target", "b.txt"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_few_pairs_are_told_however_they_are_named(tmp_path, arguments):
    for name in ("a.en", "a.de", "b.txt"):
        (tmp_path / name).write_text("low lower lowest flow blow\n" * 30)
    code, _, err = run(tmp_path, "learn", *arguments, "-o", "out", "--no-report")
    assert code == 0
    assert "note: with fewer than 100,000 pairs" in err
    found = next((tmp_path / "out").rglob("choices.json"))
    messages = json.loads(found.read_text(encoding="utf-8"))["messages"]
    assert sum(message.startswith("with fewer than 100,000") for message in messages) == 1


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.en"], "learn needs -o DIR: folder to write"),
        (["-o", "out"], "no input: name at least one file"),
        (["missing", "-o", "out"], "no such file: missing"),
        (["train.en", "-o", "out", "--separate"], "--separate needs --source and --target"),
        (["--source", "train.en", "-o", "out"], "--source without --target: give both"),
        (["--target", "train.de", "-o", "out"], "--target without --source: give both"),
        (["--source", "train.en", "--target", "train.de", "-o", "out", "--separate",
          "--separate-scripts"], "--separate-scripts does not go with --separate"),
        (["train.en", "-o", "out", "--candidates", "trigram:100"], "--candidates is bpe:N"),
        (["train.en", "-o", "out", "--criterion", "bleu"], "--criterion"),
        (["train.en", "-o", "out", "--bootstrap", "5"], "--bootstrap was removed: use --splits"),
        (["train.en", "-o", "out", "--model-width", "5"], "use --for-model, such as 44M:5"),
        (["train.en", "-o", "out", "--splits", "0"], "--splits must be a whole number from 1"),
        (["train.en", "-o", "out", "--for-model", "6b"], "--for-model is one of base, big, gpt2"),
        (["train.en", "-o", "out", "--size", "9k"], "is more than the candidates of this text"),
        (["train.en", "-o", "out", "--size", "9"], "--size 9 has no room for the "),
        (["empty", "-o", "out"], "empty has no words"),
        (["train.en", "-o", "out", "--min-count", "9999"], "--min-count leaves out every word"),
    ],
)  # fmt: skip
def test_an_error_is_one_message_on_stderr_and_exit_2(folder, arguments, words):
    (folder / "empty").write_bytes(b"")
    code, out, err = run(folder, "learn", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (folder / "out").exists()


def test_an_existing_folder_is_refused_before_the_work(folder, joint):
    before = artifacts(folder / "joint")
    code, out, err = run(folder, "learn", "missing", "-o", "joint", *FAST)
    assert (code, out) == (2, "")
    assert "joint exists; use --force to replace it, or name another folder" in err
    assert artifacts(folder / "joint") == before


# ------------------------------------------------------------------------------------------- search


def test_search_prints_a_table_and_names_the_winner(folder):
    code, out, err = run(folder, "search", "train.en", "--sizes", "320:560:60", "--by", "mdl",
                         "--for-model", "1M:8")  # fmt: skip
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split() == ["size", "tokens", "H/type", "H/char", "mdl"]
    assert [row.removeprefix("*").split()[0] for row in rows] == ["320", "380", "440", "500", "560"]
    (winner,) = [row.removeprefix("*").split() for row in rows if row.startswith("*")]
    assert f"mdl: {winner[0]} (" in err
    assert err.startswith("*: the size that mdl chooses\n")
    assert err.endswith(f"\nnext: volt learn train.en --size {winner[0]} -o out\n")
    values = {row.removeprefix("*").split()[0]: float(row.split()[-1]) for row in rows}
    assert min(values, key=values.get) == winner[0]


def test_files_without_words_and_with_line_ends_of_windows_are_told(folder, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n\n")
    text = (folder / "train.en").read_text(encoding="utf-8")
    (tmp_path / "crlf.en").write_bytes(text.replace("\n", "\r\n").encode())
    empty, blank, crlf = (str(tmp_path / name) for name in ("empty.txt", "blank.txt", "crlf.en"))
    warned = f"warning: {empty}, {blank} have no words"
    code, _, err = run(folder, "learn", "train.en", empty, blank, crlf, "-o", tmp_path / "out")
    said = " ".join(err.split())
    assert code == 0 and warned in said
    assert f"note: {crlf}: lines end in CR LF; the CR is not learned, but" in said
    assert warned in json.loads((tmp_path / "out" / "choices.json").read_text())["messages"]
    code, _, err = run(folder, "count", "train.en", empty, blank, "-q", "-o", tmp_path / "counts")
    assert code == 0 and " ".join(err.split()) == warned
    code, _, err = run(folder, "learn", "--source", "train.en", "--target", empty, "--separate",
                       "-o", tmp_path / "both")  # fmt: skip
    assert code == 2 and err == f"volt: {empty} has no words: there is nothing to learn from\n"


def test_what_concerns_both_sides_is_said_once_and_first(folder, tmp_path):
    (tmp_path / "short.en").write_text("the low lower\n" * 400)
    code, _, err = run(folder, "learn", "--source", "train.en", "--target", tmp_path / "short.en",
                       "--separate", "-o", tmp_path / "out")  # fmt: skip
    assert code == 0 and " ".join(err.split()).count("they are not parallel") == 1
    assert err.startswith("warning: ")
    for side in ("source", "target"):
        data = json.loads((tmp_path / "out" / side / "choices.json").read_text())
        assert any("not parallel" in message for message in data["messages"])


def test_search_by_auto_leaves_the_sizes_between_to_learning(folder):
    """It said what `volt learn` says of another size, and fixed that size in the next command."""
    code, out, err = run(folder, "search", "train.en", "--sizes", "320:560:60")
    assert code == 0
    said = " ".join(err.split())
    assert f"(the cheapest of these {len(out.splitlines()) - 1} sizes that costs no" in said
    assert err.endswith("\nnext: volt learn train.en -o out\n")


def test_search_names_a_folder_that_is_free(folder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out2").write_text("")
    text = folder / "train.en"
    _, _, err = run(tmp_path, "search", text, "--sizes", "320:560:60")
    assert err.endswith(" -o out3\n")


def test_search_by_muv_and_json_is_data(folder):
    arguments = ["search", "train.en", "train.de", "--sizes", "300,350,450,5k", "--by", "muv"]
    code, out, err = run(folder, *arguments, "--json")
    assert code == 0
    data = json.loads(out)
    assert [row["size"] for row in data["rows"]] == [300, 350, 450]
    assert data["rows"][0]["muv"] is None
    best = max(data["rows"][1:], key=lambda row: row["muv"])
    assert data["winner"]["size"] == best["size"]
    code, out, err = run(folder, *arguments)
    assert code == 0
    assert "note: the text does not reach 5,000" in err
    assert "plain BPE, without transport, which `volt learn --profile paper` solves" in " ".join(
        err.split()
    )
    assert f"muv: {best['size']} (most entropy saved" in err
    assert "note: the best size (450) is the last one tried" in err
    assert "next:" not in err


@pytest.mark.parametrize("by", ["heldout", "auto"])
def test_search_prints_the_quality_curve(folder, by):
    """By default, and at the sizes at which learn measures it."""
    arguments = ["search", "train.en", "train.de", *(["--by", by] if by != "auto" else [])]
    code, out, err = run(folder, *arguments)
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split()[4:] == ["heldout", *(["cost"] if by == "auto" else [])]
    if by == "auto":
        assert min(float(row.split()[-1].removesuffix("%")) for row in rows) == 0
        assert all(re.search(r" \+\d+\.\d%$", row) for row in rows)
    quality = volt.learn([folder / "train.en", folder / "train.de"]).quality
    assert [(int(row[0].replace(",", "")), row[4]) for row in (
        row.removeprefix("*").split() for row in rows
    )] == [(size, f"{score:.5g}") for size, score in zip(
        quality.sizes.tolist(), quality.scores.tolist(), strict=True) if score == score
    ]  # fmt: skip
    (winner,) = [row.split()[1] for row in rows if row.startswith("*")]
    assert f"{by}: {winner} (" in err
    if by == "heldout":
        assert winner == f"{quality.best:,}"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.en", "--by", "bleu"], "needs --valid SOURCE TARGET"),
        (["train.en", "--by", "mdl"], "the text gives sizes"),
        (["train.en", "--sizes", "40"], " on: name at least two of these"),
        (["train.en", "--model-width", "8"], "--model-width was removed: use --for-model"),
        (["train.en", "--sizes", "many"], "START:STOP:STEP"),
    ],
)
def test_search_errors(folder, arguments, words):
    code, out, err = run(folder, "search", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_a_byte_level_vocabulary_has_bytes_for_characters(tmp_path):
    (tmp_path / "text").write_text("low lower lowest\n" * 20)
    learned = ["learn", "text", "-o", "out", "--size", "264", "--pretokenizer", "byte-level"]
    assert "264 tokens (4 special, 256 byte, 4 merged)" in run(tmp_path, *learned)[2]
    said = run(tmp_path, "info", "out")[1]
    assert re.search(r"^tokens +4 special, 256 byte, 4 merged$", said, re.M)
    assert re.search(r"^longest token +\d bytes$", said, re.M)


def test_a_folder_of_many_files_names_some(tmp_path):
    (tmp_path / "texts").mkdir()
    for name in "abcd":
        (tmp_path / "texts" / name).write_text("the cat sat\n" * 9, encoding="utf-8")
    names = [f"texts/{name}" for name in "abc"]
    _, _, told = run(tmp_path, "count", "texts", "-o", "all.tsv")
    assert f"4 files: {', '.join(names)} and 1 more" in " ".join(told.split())
    assert "files:" not in run(tmp_path, "count", *names, "-o", "three.tsv")[2]
