"""A whole trial: it learns, it can be killed, its figures are those of sacrebleu."""

import json
import math
import re
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cipher import encipher, write_corpus

from volt.base.errors import InputError, SettingsError
from volt.cli.app import app
from volt.cli.trial import TrialCommand, _tell_next
from volt.pipeline import learn
from volt.report.answer import short

pytest.importorskip("torch", reason="needs torch: make large")
from volt.trial import lm_trial, trial
from volt.trial.one_model import _mostly_measured
from volt.trial.page import MEASURES, over_size
from volt.trial.presets import PRESETS
from volt.trial.results import BITS, RunResult, TrialResults
from volt.trial.scoring import Scorer, half_interval, paired_p

VOLT = Path(sys.executable).with_name("volt")
QUICK = {"updates": 3, "checkpoints": 3, "batch": 400, "warmup": 2, "threads": 1, "beam": 2}


# It kills itself as it starts to write the third checkpoint: the second is there.
KILLED = """
import os, signal, sys
from volt.cli import main
written = 0
def hook(event, details):
    global written
    if event == "os.rename" and str(details[1]).endswith("checkpoint.pt"):
        written += 1
        if written == 3:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
main()
"""


def stored_runs(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["runs"]


def without_times(folder):
    return [{**run, "timing": None} for run in stored_runs(folder)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("cipher"))


def texts(names):
    return {
        "source": names["train.plain"],
        "target": names["train.cipher"],
        "valid": (names["valid.plain"], names["valid.cipher"]),
        "test": (names["test.plain"], names["test.cipher"]),
    }


def arguments(names, output, *more):
    return [
        "trial", "--source", names["train.plain"], "--target", names["train.cipher"],
        "--valid", names["valid.plain"], names["valid.cipher"],
        "--test", names["test.plain"], names["test.cipher"], "-o", str(output), "--threads", "1",
        *more,
    ]  # fmt: skip


def volt(*given):
    return subprocess.run([VOLT, *given], capture_output=True, text=True, timeout=600, check=False)


def inside(*given):
    """The same in this process: torch takes seconds to import."""
    app(args=list(given), prog_name="volt", standalone_mode=False)


@pytest.fixture(scope="module")
def learned(corpus, tmp_path_factory):
    """Models after 200 updates, and one that saw a single batch."""
    folder = tmp_path_factory.mktemp("trial")
    tuned = ["--model", "conv", "--dropout", "0", "--batch", "500", "--warmup", "60", "--beam", "2"]
    done = volt(*arguments(
        corpus, folder / "long", "--vocab", "bpe:340", "--vocab", "bpe:300", *tuned,
        "--updates", "200",
        "--checkpoints", "5", "--average", "1",
    ))  # fmt: skip
    assert done.returncode == 0, done.stderr
    short = trial(
        **texts(corpus), vocabularies=["bpe:340"], output=folder / "short", model="conv", updates=1,
        threads=1, batch=500, beam=2,
    )  # fmt: skip
    return folder / "long", done, short


def test_the_cipher_is_learned(learned):
    folder, done, untrained = learned
    rows = {
        row["vocabulary"]: row
        for row in json.loads((folder / "results.json").read_text())["vocabularies"]
    }
    before = untrained.rows()[0]
    assert rows["bpe:340"]["bleu"] > 70
    assert before["bleu"] < 5
    assert rows["bpe:340"]["bits_per_byte"] < before["bits_per_byte"] / 5
    scores, costs = done.stdout.split("\n\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "time" in costs.splitlines()[0]
    assert "best: bpe:" in done.stderr
    head, *lines = scores.splitlines()
    assert head.split()[:7] == [
        "vocabulary", "size", "bits/byte", "±95%", "BLEU", "±95%", "chrF"
    ]  # fmt: skip
    assert [line.split()[0] for line in lines] == ["bpe:340", "bpe:300"]


def test_the_transformer_learns_it_too(corpus, learned, tmp_path):
    found = trial(
        **texts(corpus), vocabularies=["bpe:340"], output=tmp_path, updates=400, dropout=0.0,
        batch=500, warmup=60, beam=2, checkpoints=5, average=1, threads=1,
    )  # fmt: skip
    untrained = learned[2].rows()[0]
    assert found.rows()[0]["bleu"] > 50 > untrained["bleu"] + 40
    assert found.rows()[0]["bits_per_byte"] < untrained["bits_per_byte"] / 4


def test_bleu_is_that_of_the_command_line_of_sacrebleu(learned):
    folder, done, _ = learned
    results = json.loads((folder / "results.json").read_text())
    for run in results["runs"]:
        (place,) = (one for one in (folder / "runs").iterdir()
                    if one.name.startswith(run["vocabulary"].replace(":", "-")))  # fmt: skip
        for metric in ("bleu", "chrf"):
            said = subprocess.run(
                [sys.executable, "-m", "sacrebleu", folder / "reference.txt", "-i",
                 place / "test.txt", "-m", metric, "-w", "6"],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            found = json.loads(said.stdout)
            assert found["score"] == pytest.approx(run[metric], abs=1e-6)
            name = {"bleu": "BLEU", "chrf": "chrF"}[metric]
            theirs = found["signature"].replace("nrefs:1|", "")
            assert theirs in results["signatures"][name].replace("nrefs:1|", "")
            assert results["signatures"][name] in done.stderr


def test_what_is_reported(learned):
    folder, _, _ = learned
    results = json.loads((folder / "results.json").read_text())
    (first, second) = results["vocabularies"]
    assert first["p"] is None
    assert 0 < second["p"] <= 1
    assert second["target_tokens"] > first["target_tokens"]
    assert first["size"] == 340
    for row in results["vocabularies"]:
        assert row["sentences_per_second"] > 0
        assert 0 < row["bits_95"] < row["bits_per_byte"]
        assert 0 < row["chrf_95"] < row["chrf"]
        assert row["parameters"] > 10_000
        assert row["seconds"] > 0
    assert {one["criterion"] for one in results["criteria"]} >= {"muv", "mdl", "knee"}
    model = results["settings"]["model"]
    for row in results["vocabularies"]:  # two ids for padding and the end
        assert row["parameters"] == model["body"] + (row["size"] + 2) * model["width"]
    assert str(folder) not in (folder / "results.json").read_text()


def test_the_page_shows_what_is_chosen_for_the_model_of_the_trial(corpus, learned):
    folder, _, _ = learned
    results = json.loads((folder / "results.json").read_text())
    model, shown = results["settings"]["model"], {}
    files = [corpus["train.plain"], corpus["train.cipher"]]
    found = learn(files, for_model=f"{model['body']}:{model['width']}", threads=1)
    for one in results["criteria"]:
        shown[one["criterion"]] = one["size"]
    assert shown == {one.criterion: one.size for one in found.choices}
    page = (folder / "report.html").read_text(encoding="utf-8")
    said = f"{short(model['body'])} parameters outside the embeddings and width {model['width']}"
    assert said in page


def test_the_page_holds_the_figures(learned):
    folder, _, _ = learned
    results = json.loads((folder / "results.json").read_text())
    page = (folder / "report.html").read_text(encoding="utf-8")
    for row in results["vocabularies"]:
        assert row["vocabulary"] in page
        assert f"{row['bleu']:.2f}" in page
    assert "default-src 'none'" in page


def test_a_second_call_trains_nothing_and_says_the_same(corpus, tmp_path, capsys):
    call = arguments(
        corpus, tmp_path, "--vocab", "bpe:320", "--updates", "2", "--beam", "1", "--json", "-q",
    )  # fmt: skip
    said = []
    for _ in range(2):
        inside(*call)
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1]  # the timings too


def test_another_tokenizer_scores_anew_and_trains_nothing(corpus, tmp_path):
    options = {**texts(corpus), "vocabularies": ["bpe:320"], "output": tmp_path, **QUICK}
    first = trial(**options)
    (place,) = (tmp_path / "runs").iterdir()
    (place / "checkpoint.pt").write_bytes(b"left by a process that was killed")
    references = Path(corpus["test.cipher"]).read_text(encoding="utf-8").splitlines()
    # After three updates it says nothing; let it have learned something.
    translated = [line[:-2] for line in references]
    (place / "test.txt").write_text("".join(f"{line}\n" for line in translated), encoding="utf-8")
    second = trial(**options, bleu_tokenize="char")
    assert second.runs[0].timing == first.runs[0].timing
    assert not (place / "checkpoint.pt").exists()
    scores = Scorer(references, "char").scored(first.runs[0], translated)
    other = Scorer(references).scored(first.runs[0], translated)
    assert second.runs[0].bleu == scores.bleu > other.bleu + 1
    assert second.runs[0].bleu_95 == scores.bleu_95 > 0
    assert "tok:char" in second.signatures["BLEU"]
    (place / "test.txt").write_text("\n".join(references[:3]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="3 lines for 60"):
        trial(**options)


def test_a_killed_trial_goes_on_to_the_same_result(corpus, tmp_path):
    def call(output):
        return arguments(
            corpus, output, "--vocab", "bpe:320", "--updates", "40", "--checkpoints", "20",
            "--batch", "400", "--beam", "1", "-q", "--model", "conv",
        )  # fmt: skip

    inside(*call(tmp_path / "whole"))
    killed = subprocess.run([sys.executable, "-c", KILLED, *call(tmp_path / "killed")])
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "killed").rglob("checkpoint.pt"))
    assert not (tmp_path / "killed" / "results.json").exists()
    inside(*call(tmp_path / "killed"))

    assert without_times(tmp_path / "killed") == without_times(tmp_path / "whole")


def test_awkward_lines_are_handled_and_told(tmp_path):
    """Unknown characters, an empty line, a line of a thousand tokens, in each text."""
    names = write_corpus(tmp_path, train=80, held_out=6)
    for name in ("train", "valid", "test"):
        long = "a b " * 600
        for side in ("plain", "cipher"):
            with Path(names[f"{name}.{side}"]).open("a", encoding="utf-8") as stream:
                line = long if side == "plain" else encipher(long)
                stream.write(f"\n{line}\n{'語彙' if name != 'train' else 'ab'}\n")
    found = trial(**texts(names), vocabularies=["char"], output=tmp_path / "out", **QUICK)
    said = "\n".join(found.messages)
    assert "1 training pairs with an empty side left out" in said
    assert "unknown tokens in the test text" in said
    assert "too long in the validation text, cut: 2 lines" in said
    assert "1 training pairs of 256 tokens or more left out" in said
    (place,) = (tmp_path / "out" / "runs").iterdir()
    lines = (place / "test.txt").read_text(encoding="utf-8").split("\n")
    assert len(lines) == 6 + 3 + 1
    assert lines[6] == ""
    assert "<unk>" not in "".join(lines)


def test_what_can_not_be_is_refused_before_training(corpus, tmp_path):
    short = tmp_path / "short"
    short.write_text("one line\n", encoding="utf-8")
    wrong = arguments({**corpus, "test.cipher": str(short)}, tmp_path / "o", "--vocab", "char")
    with pytest.raises(InputError, match="has 60 lines and"):
        inside(*wrong)
    with pytest.raises(SettingsError, match="no such file or folder"):
        inside(*arguments(corpus, tmp_path / "o", "--vocab", "wibble:3"))
    assert not (tmp_path / "o").exists()
    with pytest.raises(SettingsError, match="no tokenizer"):
        trial(**texts(corpus), vocabularies=["char"], output=tmp_path / "o", bleu_tokenize="x")
    for device in ("wibble", "meta"):
        with pytest.raises(SettingsError, match="no `device`"):
            trial(**texts(corpus), vocabularies=["char"], output=tmp_path / "o", device=device)
    with pytest.raises(InputError, match="raise `max_tokens`"):
        trial(**texts(corpus), vocabularies=["char"], output=tmp_path / "o", max_tokens=2)
    if find_spec("MeCab") is None:
        with pytest.raises(SettingsError, match="'ja-mecab' does not work"):
            trial(**texts(corpus), vocabularies=["char"], output=tmp_path / "o",
                  bleu_tokenize="ja-mecab")  # fmt: skip
    empty = tmp_path / "empty"
    empty.write_text("\n\n", encoding="utf-8")
    with pytest.raises(InputError, match="text on both sides"):
        trial(**{**texts(corpus), "source": str(empty), "target": str(empty)},
              vocabularies=["char"], output=tmp_path / "o")  # fmt: skip


def test_seeds_give_a_mean_and_a_spread(corpus, tmp_path):
    found = trial(**texts(corpus), vocabularies=["bpe:320"], output=tmp_path, seeds=2, **QUICK)
    (row,) = found.rows()
    losses = [run.bits_per_byte for run in found.runs]
    assert row["bits_per_byte"] == pytest.approx(sum(losses) / 2)
    assert row["bits_per_byte_spread"] == pytest.approx(abs(losses[0] - losses[1]) / 2**0.5)
    assert found.runs[0].model_digest != found.runs[1].model_digest
    for seeds, half in ((2, row["bleu_spread"]), (1, found.runs[0].bleu_95)):
        shown = replace(found, runs=found.runs[:seeds])
        (drawn,) = over_size(shown, MEASURES["translation"][0])["layer"][0]["data"]["values"]
        assert (drawn["high"] - drawn["low"]) / 2 == pytest.approx(half)


def test_search_by_bleu_names_the_cost_and_no_winner_of_untrained_models(corpus, tmp_path, capsys):
    call = [
        "search", corpus["train.plain"], corpus["train.cipher"], "--by", "bleu",
        "--valid", corpus["valid.plain"], corpus["valid.cipher"],
        "--test", corpus["test.plain"], corpus["test.cipher"], "--updates", "2",
        "--sizes", "290,320,9000", "--model", "conv", "-o", str(tmp_path / "out"), "--threads", "1",
    ]  # fmt: skip
    inside(*call)
    said = capsys.readouterr()
    _, *lines = said.out.split("\n\n")[0].splitlines()  # the columns that fit into 80
    assert [line[2:].split()[0] for line in lines] == ["bpe:290", "bpe:320"]
    assert "cost: " in said.err
    assert "the text does not reach 9,000" in said.err
    stored = json.loads((tmp_path / "out" / "results.json").read_text())
    rows = stored["vocabularies"]
    assert stored["seconds"] == sum(row["seconds"] for row in rows)
    assert stored["winner"] is None
    lowest = min(rows, key=lambda row: row["bits_per_byte"])
    assert (
        " ".join(said.err.split()).count(
            "no verdict: the models are not trained yet (2 updates, fewer than the 300 of the "
            f"warm-up); lowest so far: {lowest['vocabulary']}, {lowest['bits_per_byte']:.4f} bits"
        )
        == 1
    )
    assert [line[0] for line in lines] == [" ", " "]
    plot = (tmp_path / "out" / "plot.svg").read_text(encoding="utf-8")
    assert "BLEU" in plot
    with pytest.raises(SettingsError, match="needs --valid"):
        inside(*call[:3], "--by", "bleu")


# --------------------------------------------------------------------------------- language models


def lm_arguments(corpus, output, *more):
    return [
        "trial", "--task", "lm", corpus["train.plain"], "--heldout", corpus["valid.plain"],
        "-o", str(output), "--threads", "1", *more,
    ]  # fmt: skip


@pytest.mark.parametrize("model", ["transformer", "conv"])
def test_a_language_model_learns_words(corpus, tmp_path, model):
    """Words are drawn from forty, evenly: what is there to learn is known."""
    found = lm_trial(
        corpus["train.plain"], heldout=corpus["valid.plain"], vocabularies=["bpe:340"],
        output=tmp_path, model=model, updates=80, batch=1200, dropout=0.0, warmup=10, threads=1,
        checkpoints=4, learning_rate=3e-3,
    )  # fmt: skip
    lines = Path(corpus["valid.plain"]).read_text(encoding="utf-8").splitlines()
    words = sum(len(line.split()) for line in lines)
    # Which of the words; and how many there are, 2 to 6.
    bits = words * math.log2(40) + len(lines) * math.log2(5)
    least = bits / sum(len(line) + 1 for line in lines)
    for row in found.rows():
        assert 0.93 * least < row["bits_per_byte"] < 1.5 * least, row["vocabulary"]
        assert row["source_tokens"] is None
    assert found.task == "lm"
    stored = json.loads((tmp_path / "results.json").read_text())
    assert stored["vocabularies"][0]["bits_per_byte"] == found.rows()[0]["bits_per_byte"]
    assert "bleu" not in stored["vocabularies"][0]
    assert not (tmp_path / "reference.txt").exists()


def test_a_killed_language_trial_goes_on_and_tells_it_plainly_in_a_pipe(corpus, tmp_path):
    def call(output):
        return lm_arguments(
            corpus, output, "--vocab", "bpe:300", "--vocab", "bpe:280", "--updates", "20",
            "--checkpoints", "10", "--batch", "400",
        )  # fmt: skip

    whole = volt(*call(tmp_path / "whole"))
    assert whole.returncode == 0, whole.stderr
    assert "bpe:300, seed 0: 0 of 20 updates\n" in whole.stderr
    told = r"bpe:300, seed 0: 4 of 20 updates, loss [\d.]+, [\d,]+ \w+/s(, [1-9]\d* s left)?\n"
    assert re.search(told, whole.stderr), whole.stderr
    assert "0 s left" not in re.findall(r"\b\d+ s left", whole.stderr)
    assert "\x1b" not in whole.stderr + whole.stdout
    assert "\r" not in whole.stderr + whole.stdout
    head, *rows = whole.stdout.split("\n\n")[0].splitlines()  # what is too wide goes on below
    assert head.split()[:4] == ["vocabulary", "size", "bits/byte", "±95%"]
    assert [row.split()[0] for row in rows] == ["bpe:300", "bpe:280"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *call(tmp_path / "killed")])
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "killed").rglob("checkpoint.pt"))
    inside(*call(tmp_path / "killed"), "-q")
    results = [without_times(tmp_path / name) for name in ("whole", "killed")]
    assert results[0] == results[1]


def test_search_by_loss_names_the_lowest_and_goes_on(corpus, tmp_path, capsys):
    call = [
        "search", corpus["train.plain"], "--by", "loss", "--heldout", corpus["valid.plain"],
        "--updates", "4", "--batch", "800", "--warmup", "4", "-o", str(tmp_path / "out"),
        "--threads", "1",
    ]  # fmt: skip
    inside(*call, "--sizes", "290,320")
    first = {run["vocabulary"]: run for run in stored_runs(tmp_path / "out")}
    capsys.readouterr()
    inside(*call, "--sizes", "280,290,320,9000", "--json")
    said = capsys.readouterr()
    found = json.loads(said.out)
    rows = found["vocabularies"]
    best = min(rows, key=lambda row: row["bits_per_byte"])
    assert found["winner"] == best["size"]
    assert f"loss: {best['size']} ({best['bits_per_byte']:.4f} bits per byte)" in said.err
    assert "does not reach 9,000" in said.err
    again = {run["vocabulary"]: run for run in stored_runs(tmp_path / "out")}
    assert again.keys() == {"bpe:280", *first}
    assert all(again[name] == first[name] for name in first)  # their times too
    assert "bits per byte" in (tmp_path / "out" / "plot.svg").read_text(encoding="utf-8")


def test_without_held_out_text_some_lines_are(corpus, tmp_path):
    found = lm_trial(corpus["train.plain"], vocabularies=["char"], output=tmp_path, **QUICK)
    assert "every 20th line is held out: 75 lines" in found.messages
    assert found.settings["sentences"] == {"train": 1425, "valid": 75, "test": 75}
    with pytest.raises(SettingsError, match="`task` is 'lm' here"):
        lm_trial(corpus["train.plain"], vocabularies=["char"], output=tmp_path, task="translation")


@pytest.mark.parametrize(("words", "message"), [
    (["trial", "--vocab", "char", "-o", "o"], "needs --valid"),
    (["trial", "--task", "lm", "--vocab", "char", "-o", "o"], "needs FILE"),
    (["trial", "x", "y", "--vocab", "char", "-o", "o"],
     "takes its training text as --source x --target y; --task lm trains"),
    (["trial", "x", "--vocab", "char", "-o", "o"], "--source x --target FILE"),
    (["trial", "--valid", "x", "--test", "x", "x", "--vocab", "char", "-o", "o"],
     "^--valid needs SOURCE TARGET, and --test is an option$"),
    (["trial", "--vocab", "-o", "o"], "^--vocab needs V, and -o is an option$"),
    (["trial", "--task", "lm", "x", "--test", "a", "b", "--vocab", "char", "-o", "o"],
     "--test does not go with --task lm"),
    (["trial", "--task", "lm", "x", "--source", "a", "--vocab", "char", "-o", "o"],
     "--source does not go with --task lm"),
    (["trial", "--heldout", "x", "--vocab", "char", "-o", "o"], "--heldout does not go with"),
    (["search", "x", "--by", "bleu", "--task", "lm", "-o", "o"], "use --by loss"),
    (["search", "x", "--by", "loss"], "name a folder for them with -o"),
])  # fmt: skip
def test_options_of_the_other_task_are_refused(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("some text\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=message):
        inside(*words)
    assert not Path("o").exists()


def test_intervals_of_translations_most_of_which_are_empty(corpus):
    """Some resamples then score zero, of which sacrebleu alone can't take the mean."""
    result = trial_result()
    references = ["the cat sat on the mat", *["xyz uvw"] * 30]
    found = Scorer(references).scored(result, ["the cat sat on a mat", *[""] * 30])
    assert 0 <= found.bleu < found.bleu + found.bleu_95
    assert found.chrf_95 > 0


def trial_result():
    return RunResult(
        "a", 0, 300, bits_per_byte=1.0, bits_95=0.1, valid_bits_per_byte=1.0, parameters=1,
        source_tokens=None, target_tokens=1.0, unknown=0, updates=1, epochs=1.0, sentences=1,
        averaged=1, device="cpu", stopped_early=False, model_digest="", history=[], timing={},
    )  # fmt: skip


def compared(*runs, warmup=100):
    return TrialResults(
        task="translation", settings={"training": {"warmup": warmup, "minutes": None}},
        signatures={}, runs=[
            replace(trial_result(), vocabulary=name, updates=100, source_tokens=1.0, chrf=2.0,
                    bits_per_byte=bits, bleu=bleu, bleu_95=0.1, chrf_95=0.1,
                    timing=dict.fromkeys(("train", "train_cpu", "total", "translate",
                                          "test_sentences"), 1.0))
            for name, bits, bleu in runs
        ], p_values={name: [0.001] for name, *_ in runs[1:]},
        p_values_of_bits={name: [0.4] for name, *_ in runs[1:]}, criteria=[], messages=[],
    )  # fmt: skip


def test_untrained_or_equal_models_give_no_verdict():
    found = compared(("a", 2.0, 9.0), ("b", 1.0, 8.0))
    assert found.answer() == (
        "best: a, BLEU 9.00; next: b, BLEU 8.00; b against a: p = 0.001; bits per byte: b 1.0000, "
        "a 2.0000, p = 0.400: too close to tell; the highest BLEU is 9.0: models that translate so "
        "badly say little of trained ones"
    )
    # Compared by bits per byte, the p is that of bits per byte.
    said = found.answer(BITS)
    assert "b against a" not in said.partition("p = 0.400")[2] and "0.001" not in said
    early = "no verdict: the models are not trained yet"
    lowest = "; lowest so far: b, 1.0000 bits per byte"
    for untrained, reason in (
        (replace(found, settings={"training": {"warmup": 101, "minutes": None}}),
         "100 updates, fewer than the 101 of the warm-up"),
        (compared(("a", 2.0, 0.9), ("b", 1.0, 0.0)), "the highest BLEU is 0.90"),
    ):  # fmt: skip
        assert untrained.answer() == f"{early} ({reason}){lowest}"
        assert untrained.answer(BITS) == f"{early} ({reason}){lowest}"
        assert [row["p"] for row in untrained.rows()] == [None, None]
    equal = compared(("a", 2.0, 8.0), ("b", 1.0, 8.0))
    assert equal.answer() == f"no verdict: a and b are equal, BLEU 8.00{lowest}"
    assert not equal.no_verdict(BITS)


def test_a_verdict_names_both_figures():
    """BLEU was too close to tell where bits per byte were not, and the answer said only that."""
    close = {"p_values": {"b": [0.2]}, "p_values_of_bits": {"b": [1e-9]}}
    found = replace(compared(("a", 1.4611, 18.21), ("b", 1.5963, 17.73)), **close)
    assert found.answer() == (
        "best: a, BLEU 18.21; next: b, BLEU 17.73; b against a: p = 0.200: too close to tell; "
        "bits per byte: b 1.5963, a 1.4611, p < 0.001"
    )
    assert (
        "say little of trained ones"
        in replace(compared(("a", 1.4611, 8.21), ("b", 1.5963, 7.73)), **close).answer()
    )


def test_models_that_the_clock_trained_unequally_give_no_verdict():
    equal = compared(("a", 2.0, 9.0), ("b", 1.0, 8.0))
    runs = [equal.runs[0], replace(equal.runs[1], updates=111)]
    by_clock = {"training": {"warmup": 100, "minutes": 3.0}}
    found = replace(equal, runs=runs, settings=by_clock)
    assert found.answer() == (
        "no verdict: the minutes gave the models 100 to 111 updates; compare them after equal "
        "training, with `updates` 100; lowest so far: b, 1.0000 bits per byte"
    )
    assert [row["p"] for row in found.rows()] == [None, None]
    # Nearly as many, or stopped early by the loss: these can be compared.
    near = replace(found, runs=[runs[0], replace(runs[1], updates=110)])
    assert near.answer().startswith("best: a") and near.rows()[1]["p"] == 0.001
    assert replace(equal, runs=runs).answer().startswith("best: a")


def test_the_choice_for_the_model_of_a_trial_is_not_that_for_the_users(tmp_path):
    criteria = [{"criterion": "auto", "size": 300}, {"criterion": "muv", "size": 900}]
    found = replace(compared(("a", 2.0, 9.0), ("b", 1.0, 8.0)), criteria=criteria)
    labels = over_size(found, BITS)["layer"][3]["data"]["values"]
    assert [one["criterion"] for one in labels] == ["auto for this model", "muv"]


def test_a_budget_that_measuring_took_is_told():
    minutes = replace(PRESETS["tiny"].training, epochs=None, minutes=2)
    run = replace(trial_result(), timing={"train": 8.0, "total": 200.0, "translate": 51.0})
    (told,) = _mostly_measured(run, minutes)
    assert "a: measuring losses took most of the time, training 8 of 149 s (1 update)" in told
    assert not _mostly_measured(run, PRESETS["tiny"].training)
    assert not _mostly_measured(replace(run, timing={**run.timing, "train": 80.0}), minutes)


def test_the_interval_of_bits_per_byte_covers_what_it_should():
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(300):
        lengths = random.integers(5, 50, 200)
        bits = 2.0 * lengths + random.normal(0, 10, 200)
        covered += abs(bits.sum() / lengths.sum() - 2.0) <= half_interval(bits, lengths)
    assert 270 <= covered <= 298
    assert half_interval(np.array([3.0]), np.array([2])) == 0
    assert paired_p(np.zeros(5)) == 1
    assert paired_p(random.normal(1, 1, 100)) < 1e-6 < 0.01 < paired_p(random.normal(0, 1, 100))


def test_the_best_vocabulary_comes_with_the_next_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    learn([["low lower lowest flow blow"] * 30], size=278).save("out", report=False)
    asked = TrialCommand(source="a.de", target="a.en", vocabularies=["out", "bpe:8k"], output="t")
    better = compared(("out", 2.0, 9.0), ("bpe:8k", 1.0, 8.0))
    _tell_next(better, asked, quiet=False)
    assert capsys.readouterr().err == "next: volt export -m out --to hf -o out-hf\n"
    worse = compared(("out", 2.0, 7.0), ("bpe:8k", 1.0, 8.0))
    _tell_next(worse, asked, quiet=False)
    assert capsys.readouterr().err == "next: volt learn a.de a.en --size 8k -o out\n"
    _tell_next(compared(("out", 2.0, 8.0), ("bpe:8k", 1.0, 8.0)), asked, quiet=False)
    assert not capsys.readouterr().err
