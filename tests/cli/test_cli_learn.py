"""`volt learn` and `volt search`, run as people run them."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import volt

VOLT = Path(sys.executable).with_name("volt")
ARTIFACTS = ["choices.json", "curve.csv", "signature.txt", "volt.json"]
FAST = ["--sizes", "40:200:40", "--candidates", "bpe:300", "--bootstrap", "3"]


def lines_of(seed, letters, lines=120):
    generator = random.Random(seed)
    syllables = [a + b for a in letters for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(200)]
    return [
        " ".join(types[int(200 * generator.random() ** 2)] for _ in range(6)) for _ in range(lines)
    ]


@pytest.fixture
def folder(tmp_path):
    """A parallel pair, and one that is not."""
    english, german = lines_of(1, "bdfgm"), lines_of(2, "kprst")
    (tmp_path / "train.en").write_text("\n".join(english) + "\n")
    (tmp_path / "train.de").write_text("\n".join(german) + "\n")
    (tmp_path / "short.de").write_text("\n".join(german[:-7]) + "\n")
    return tmp_path


def run(folder, *arguments, **options):
    result = subprocess.run(
        [VOLT, *map(str, arguments)], capture_output=True, timeout=120, cwd=folder, **options
    )
    return result.returncode, result.stdout.decode(), result.stderr.decode()


def artifacts(folder):
    assert sorted(path.name for path in Path(folder).iterdir()) == ARTIFACTS
    return {name: Path(folder, name).read_bytes() for name in ARTIFACTS}


# -------------------------------------------------------------------------------------------- learn


def test_one_command_writes_a_vocabulary_and_says_what_it_chose(folder):
    code, out, err = run(folder, "learn", "train.en", "train.de", "-o", "out", *FAST)
    assert (code, out) == (0, "")
    files = artifacts(folder / "out")
    summary = json.loads(files["choices.json"])
    assert "240 lines, 1,440 words" in err
    assert f"muv chose {summary['chosen_size']}" in err
    assert f"vocabulary: {summary['vocabulary_size']} tokens" in err
    assert "epsilon 0.01 moved" in err
    assert "of the merged tokens are those of BPE of that size" in err
    table = err.splitlines()
    for choice in summary["choices"]:
        (row,) = [line for line in table if line.startswith(choice["criterion"] + " ")]
        assert choice["meaning"] in row
        assert ("-" if choice["size"] is None else f"{choice['size']:,}") == row.split()[1]
        assert ("(in doubt)" in row) == bool(choice["doubts"])
    for message in summary["messages"]:
        assert f"note: {message}" in table
    assert table[-1] == "written to out: volt.json, curve.csv, choices.json, signature.txt"
    assert "not parallel" not in err
    assert len(table) < 30, "at most a screen"
    assert sorted(path.name for path in folder.iterdir()) == [
        "out", "short.de", "train.de", "train.en",
    ]  # fmt: skip

    same = volt.learn(
        [folder / "train.de", folder / "train.en"], sizes="40:200:40", merges=300, bootstrap=3
    )
    same.save(folder / "api")
    assert artifacts(folder / "api") == files


def test_json_on_stdout_is_choices_json(folder):
    code, out, err = run(folder, "learn", "train.en", "-o", "out", "--json", *FAST)
    assert code == 0
    assert out == (folder / "out" / "choices.json").read_text()
    assert "muv chose" in err
    code, out, err = run(folder, "learn", "train.en", "-o", "quiet", "--json", "-q", *FAST)
    assert (code, err) == (0, "")
    assert json.loads(out)["criterion"] == "muv"
    assert run(folder, "learn", "train.en", "-o", "silent", "-q", *FAST) == (0, "", "")


def test_every_option_arrives(folder):
    options = [
        "--criterion", "mdl", "--model-width", "4", "--rank", "frequency", "--length",
        "occurrences", "--gamma", "0.5", "--epsilon", "0.1", "--threshold", "0.01", "--seed", "5",
        "--encoding", "split", "--merge-rule", "pairs", "--unknown", "unk", "--special",
        "<unk>,<s>", "--symbol", "<2de>", "--symbol", "<2en>", "--coverage", "0.99",
        "--max-token-length", "6", "--min-frequency", "3", "--normalize", "nfkc",
        "--max-word-length", "30", "--threads", "2",
    ]  # fmt: skip
    code, _, err = run(folder, "learn", "train.en", "-o", "out", *FAST, *options)
    assert code == 0, err
    signature = (folder / "out" / "signature.txt").read_text()
    for part in (
        "cand:bpe-300", "min:3", "cov:0.99", "long:6", "norm:nfkc", "cut:30", "sizes:40:200:40",
        "crit:mdl", "rank:frequency", "len:occurrences", "gamma:0.5", "eps:0.1", "thr:0.01",
        "width:4", "boot:3-5", "enc:split", "rule:pairs", "unk:unk",
    ):  # fmt: skip
        assert f"|{part}|" in signature
    vocabulary = volt.load_vocabulary(folder / "out")
    assert vocabulary.texts[:4] == ["<unk>", "<s>", "<2de>", "<2en>"]


@pytest.mark.parametrize("pretokenizer", ["whitespace", "metaspace", "byte-level"])
def test_a_fixed_size(folder, pretokenizer):
    code, _, err = run(
        folder, "learn", "train.en", "-o", "out", *FAST, "--size", 400, "--pretokenizer",
        pretokenizer, "--candidates", "bpe:1000",
    )  # fmt: skip
    assert code == 0, err
    assert "size fixed at 400\nvocabulary: 400 tokens\n" in err
    assert len(volt.load_vocabulary(folder / "out")) == 400


def test_text_from_stdin_and_counts(folder):
    data = (folder / "train.en").read_bytes()
    assert run(folder, "learn", "-", "-o", "stdin", *FAST, input=data)[0] == 0
    assert run(folder, "count", "train.en", "-o", "counts")[0] == 0
    assert run(folder, "learn", "counts", "-o", "counted", *FAST)[0] == 0
    assert run(folder, "learn", "train.en", "-o", "text", *FAST)[0] == 0
    assert (
        artifacts(folder / "stdin") == artifacts(folder / "counted") == artifacts(folder / "text")
    )


# ------------------------------------------------------------------------------- source and target


def test_separate_writes_a_vocabulary_for_each_side(folder):
    code, out, err = run(
        folder, "learn", "--separate", "--source", "train.en", "--target", "train.de", "-o",
        "out", "--json", *FAST,
    )  # fmt: skip
    assert code == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["source", "target"]
    assert list(json.loads(out)) == ["source", "target"]
    assert ["source:" in err.splitlines(), "target:" in err.splitlines()] == [True, True]
    assert "not parallel" not in err
    for side, name in (("source", "train.en"), ("target", "train.de")):
        assert run(folder, "learn", name, "-o", name + ".out", *FAST)[0] == 0
        assert artifacts(folder / "out" / side) == artifacts(folder / f"{name}.out")
        assert json.loads(out)[side] == json.loads(
            (folder / "out" / side / "choices.json").read_text()
        )


def test_separate_is_refused_replaced_and_whole_like_any_other(folder):
    arguments = ["learn", "--separate", "--source", "train.en", "-o", "out", *FAST, "--target"]
    assert run(folder, *arguments, "train.de")[0] == 0
    before = artifacts(folder / "out" / "target")
    code, _, err = run(folder, *arguments, "train.en")
    assert code == 2
    assert "out exists; use --force" in err
    code, _, err = run(folder, *arguments, "missing.de", "--force")
    assert code == 2
    assert "no such file: missing.de" in err
    assert artifacts(folder / "out" / "target") == before
    assert run(folder, *arguments, "train.en", "--force")[0] == 0
    assert artifacts(folder / "out" / "target") == artifacts(folder / "out" / "source")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--separate", "--source", "train.en", "--target", "short.de"],
        ["--source", "train.en", "--target", "short.de"],
        ["--source", "sources", "--target", "targets"],
        ["sources/train.en", "sources/train.de"],
        ["sources/train.en.gz", "sources/train.de.gz"],
    ],
)
def test_files_that_do_not_match_are_both_named(folder, arguments):
    for name in ("sources", "targets"):
        (folder / name).mkdir()
    for place in ("sources/train.en", "sources/train.en.gz", "sources/a", "targets/a"):
        (folder / place).write_bytes((folder / "train.en").read_bytes())
    for place in ("sources/train.de", "sources/train.de.gz", "targets/b", "targets/c", "targets/d"):
        (folder / place).write_bytes((folder / "short.de").read_bytes())
    (folder / "targets" / "e").write_bytes((folder / "train.de").read_bytes())
    code, _, err = run(folder, "learn", "-o", "out", *FAST, *arguments)
    assert code == 0
    warnings = [line for line in err.splitlines() if line.startswith("warning: ")]
    if arguments[1] == "sources":
        # In order: a a, train.de b, train.de.gz c, train.en d, train.en.gz e.
        assert warnings == [
            "warning: sources/train.en has 120 lines, targets/d has 113: they are not parallel"
        ]
    else:
        one, other = [name for name in arguments if "train.en" in name or ".de" in name]
        assert warnings == [f"warning: {one} has 120 lines, {other} has 113: they are not parallel"]


def test_files_that_are_no_pair_are_not_compared(folder):
    (folder / "more").mkdir()
    (folder / "more" / "train.en").write_text("another text\n" * 9)
    for names in (["train.en", "more/train.en"], ["train.en", "short.de"], ["train.en", "more"]):
        code, _, err = run(folder, "learn", *names, "-o", "out", "--force", *FAST)
        assert code == 0
        assert "parallel" not in err


def test_a_weight_for_each_side(folder):
    arguments = ["learn", "--separate", "--source", "train.en", "--target", "train.de", *FAST]
    code, _, err = run(folder, *arguments, "-o", "out", "--weight", "1", "--weight", "0.5")
    assert code == 0, err
    units = [volt.load_vocabulary(folder / "out" / side).unit for side in ("source", "target")]
    assert units == [1, 2]


# ------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.en"], "name the folder to write with -o"),
        (["-o", "out"], "no input: name at least one file"),
        (["missing", "-o", "out"], "no such file: missing"),
        (["train.en", "-o", "train.de"], "train.de is a file; name a folder"),
        (["train.en", "-o", "."], "the folder you are in"),
        (["train.en", "-o", "out", "--separate"], "--separate needs --source and --target"),
        (
            ["train.en", "-o", "out", "--separate", "--source", "train.en", "--target", "train.de"],
            "every file belongs to --source or to --target",
        ),
        (["train.en", "-o", "out", "--criterion", "bleu"], "--criterion"),
        (["train.en", "-o", "out", "--sizes", "1000:10"], "START:STOP:STEP"),
        (["train.en", "-o", "out", "--sizes", "100"], "S is two or more sizes"),
        (["train.en", "-o", "out", "--candidates", "unigram:100"], "--candidates is bpe:N"),
        (["train.en", "-o", "out", "--size", "10"], "has no room for"),
        (["train.en", "-o", "out", "--size", "1000000"], "the text gives"),
        (["train.en", "-o", "out", "--gamma", "0"], "gamma must be a number above 0"),
        (["train.en", "-o", "out", "--epsilon", "nan"], "epsilon must be a number"),
        (["train.en", "-o", "out", "--seed", "99999999999999999999"], "seed is at least 0"),
        (["train.en", "-o", "out", "--criterion", "frequency"], "frequency chooses no size"),
        (["train.en", "-o", "out", "--no-such-option"], "No such option"),
        (["empty", "-o", "out"], "not one word in the input"),
        (["binary", "-o", "out"], "invalid UTF-8"),
    ],
)
def test_an_error_is_one_message_on_stderr_and_exit_2(folder, arguments, words):
    (folder / "empty").write_bytes(b"")
    (folder / "binary").write_bytes(b"text \xff\xfe")
    code, out, err = run(folder, "learn", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (folder / "out").exists()


def test_an_existing_folder_is_refused_before_the_work(folder):
    assert run(folder, "learn", "train.en", "-o", "out", *FAST)[0] == 0
    before = artifacts(folder / "out")
    code, out, err = run(folder, "learn", "missing", "-o", "out", *FAST)
    assert (code, out) == (2, "")
    assert "out exists; use --force to replace it, or name another folder" in err
    assert artifacts(folder / "out") == before
    assert run(folder, "learn", "train.de", "-o", "out", "--force", *FAST)[0] == 0
    assert artifacts(folder / "out") != before


# ------------------------------------------------------------------------------------------- search


def test_search_prints_a_table_and_names_the_winner(folder):
    code, out, err = run(folder, "search", "train.en", "--sizes", "60:300:60", "--by", "mdl",
                         "--model-width", 8)  # fmt: skip
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split() == ["size", "tokens", "H/type", "H/char", "mdl"]
    assert [row.removeprefix("*").split()[0] for row in rows] == ["60", "120", "180", "240", "300"]
    (winner,) = [row.removeprefix("*").split() for row in rows if row.startswith("*")]
    assert f"mdl: {winner[0]} (" in err
    values = {row.removeprefix("*").split()[0]: float(row.split()[-1]) for row in rows}
    assert min(values, key=values.get) == winner[0]


def test_search_by_muv_is_the_default_and_json_is_data(folder):
    arguments = ["search", "train.en", "train.de", "--sizes", "50,100,200,5k"]
    code, out, err = run(folder, *arguments, "--json")
    assert code == 0
    data = json.loads(out)
    assert [row["size"] for row in data["rows"]] == [50, 100, 200]
    assert data["rows"][0]["muv"] is None
    best = max(data["rows"][1:], key=lambda row: row["muv"])
    assert data["winner"]["size"] == best["size"]
    code, out, err = run(folder, *arguments)
    assert code == 0
    assert "note: the text does not reach 5,000" in err
    assert f"muv: {best['size']} (most entropy saved" in err
    assert run(folder, *arguments, "-q")[1:] == (out, "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train.en", "--by", "bleu"], "--by"),
        (["train.en"], "the text gives sizes"),
        (["train.en", "--sizes", "many"], "START:STOP:STEP"),
        (["missing"], "no such file"),
        ([], "FILE"),
    ],
)
def test_search_errors(folder, arguments, words):
    code, out, err = run(folder, "search", *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
