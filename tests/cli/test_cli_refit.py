"""volt refit and volt extend, as users call them."""

import json
import math
import os
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import volt
from volt.adapting.checkpoint import BYTES_OF, read_header
from volt.cli.refit import advice
from volt.report.page import load_material, page_data


def run(*arguments: str | Path, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from volt.cli import main; main()", *map(str, arguments)],
        capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONHASHSEED": seed},
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of one made-up text, and two files of another."""
    target = tmp_path_factory.mktemp("text")
    for name, letters in (("old.txt", "abcdefg"), ("one.txt", "abcd"), ("two.txt", "cdefg")):
        draw = random.Random(name)
        words = ["".join(draw.choices(letters, k=draw.randint(1, 7))) for _ in range(300)]
        text = [" ".join(draw.choices(words, k=8)) for _ in range(200)]
        (target / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    vocabulary = volt.learn([target / "old.txt"], size=700, pretokenizer="byte-level")
    (target / "learned").mkdir()
    vocabulary.vocabulary.save(target / "learned" / "volt.json")
    volt.export(vocabulary.vocabulary, "hf", target / "hf")
    return target


FILES = ["curve.csv", "generation_config.json", "id_map.npy", "refit.json", "signature.txt",
         "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
         "volt.json"]  # fmt: skip


def test_refit(folder: Path, tmp_path: Path) -> None:
    tokenizer, out = folder / "hf" / "tokenizer.json", tmp_path / "out"
    done = run("refit", tokenizer, "--on", folder / "one.txt", folder / "two.txt", "-o", out,
               "--sizes", "310,360,410", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["before"]["size"] == 700 and told["criterion"] == "auto"
    assert told["vocabulary_size"] == 700 - told["dropped"] < 700
    assert told["files"] == FILES == sorted(path.name for path in (tmp_path / "out").glob("[!.]*"))
    assert f"700 tokens -> {told['vocabulary_size']} tokens: the cheapest size that" in done.stderr
    assert "what could be encoded still can" in done.stderr
    id_map = np.load(tmp_path / "out" / "id_map.npy")
    assert int((id_map < 0).sum()) == told["dropped"]
    saved = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
    assert saved["signature"] == told["signature"]
    assert volt.load(tmp_path / "out").vocabulary.signature == told["signature"]
    page = page_data(load_material(tmp_path / "out"))  # whose charts need a curve
    assert told["vocabulary_size"] in page["curve"]["size"]
    assert page["source"] == {"name": "the tokenizer's own tokens", "exact": True}


def test_the_same_bytes_for_any_threads_and_hash_seed(folder: Path, tmp_path: Path) -> None:
    for command, more in (("refit", ("--size", "500")), ("extend", ("--add", "20"))):
        for number in ("1", "2"):
            out = tmp_path / command / number
            done = run(command, folder / "hf", "--on", folder / "one.txt", *more, "-q", "-o", out,
                       "--threads", number, seed=number)  # fmt: skip
            assert done.returncode == 0 and done.stderr == done.stdout == "", done.stderr
        first, second = (
            {path.name: path.read_bytes() for path in (tmp_path / command / number).iterdir()}
            for number in ("1", "2")
        )
        assert first == second


def test_extend(folder: Path, tmp_path: Path) -> None:
    done = run("extend", folder / "hf", "--on", folder / "one.txt", "--add", "25",
               "-o", tmp_path / "out", "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["added"] == 25 and told["vocabulary_size"] == 725 and told["dropped"] == 0
    assert told["after"]["tokens"] < told["before"]["tokens"]
    assert "700 tokens -> 725; the old ones have their ids" in done.stderr
    assert np.load(tmp_path / "out" / "id_map.npy").tolist() == list(range(700))
    done = run("extend", folder / "hf", "--on", folder / "one.txt", "--add", "25", "--swap",
               "-o", tmp_path / "swapped")  # fmt: skip
    said = "25 tokens added, 25 taken out: still 700; the ids of others moved"
    assert said in " ".join(done.stderr.split()), done.stderr
    assert -1 in np.load(tmp_path / "swapped" / "id_map.npy")


def test_what_is_told_last_is_the_next_command_and_it_works(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "one.txt").read_text(encoding="utf-8").splitlines()
    records = tmp_path / "records.jsonl"
    records.write_text("".join(json.dumps({"said": line}) + "\n" for line in lines))
    for command, text, more in (
        ("refit", folder / "one.txt", ("--size", "500")),
        ("extend", records, ("--add", "20", "--field", "said")),
    ):
        out = tmp_path / f"the {command}"
        done = run(command, folder / "hf", "--on", text, *more, "-o", out)
        assert done.returncode == 0, done.stderr
        assert "unigram entropy" in " ".join(done.stderr.split())
        last = done.stderr.splitlines()[-1]
        assert last.startswith("next: volt compare ") and last.endswith(" --on HELD-OUT-TEXT")
        last = last.replace("HELD-OUT-TEXT", shlex.quote(str(folder / "two.txt")))
        done = run(*shlex.split(last.removeprefix("next: volt ")))
        assert done.returncode == 0, done.stderr
        assert "bits/byte" in done.stdout and f"the {command}" in done.stdout


def test_the_page_of_what_refit_wrote_says_why_it_has_its_size(
    folder: Path, tmp_path: Path
) -> None:
    done = run("refit", folder / "hf", "--on", folder / "one.txt", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "out" / "refit.json").read_text())
    material = load_material(tmp_path / "out")
    assert material.choices["size"] == told["size"] == len(material.vocabulary)
    answer = page_data(material)["answer"]
    assert answer["why"] in " ".join(done.stderr.split())
    done = run("refit", folder / "hf", "--on", folder / "one.txt", "-o", tmp_path / "clean",
               "--residues")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert load_material(tmp_path / "clean").choices is None


def test_that_compare_measures_another_model_is_said_where_quality_decided(
    folder: Path, tmp_path: Path
) -> None:
    said = "bits per byte may rise in volt compare, which measures them in another way"
    for more, told in (((), True), (("--size", "500"), False)):
        done = run("refit", folder / "hf", "--on", folder / "one.txt", *more, "--force",
                   "-o", tmp_path / "out")  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert (said in " ".join(done.stderr.split())) == told


def test_that_nothing_was_removed_is_said(folder: Path, tmp_path: Path) -> None:
    small = run("refit", folder / "hf", "--on", folder / "old.txt", "--size", "400",
                "-o", tmp_path / "small")  # fmt: skip
    assert "nothing was removed" not in small.stderr and "700 tokens -> 400" in small.stderr
    again = run("refit", tmp_path / "small", "--on", folder / "old.txt", "--size", "400",
                "-o", tmp_path / "again")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert again.stderr.startswith("nothing was removed: 400 tokens before and after\n")
    assert "->" not in again.stderr.split("tokens per line")[0]
    assert "next:" not in again.stderr


def test_the_cost_is_that_of_the_model_to_be_cut(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"vocab_size": 700}', encoding="utf-8")

    def tell(body: str, *more: str) -> dict[str, Any]:
        """`body` is the type of a matrix of 64 times 300."""
        numbers = {
            "model.embed_tokens.weight": ("F32", [700, 64]), "lm_head.weight": ("F32", [700, 64]),
            "model.layer.weight": (body, [64, 300]), "model.norm.weight": ("F16", [64]),
            "model.mask": ("F32", [1, 1, 8, 8]), "model.position_ids": ("I64", [1, 9]),
        }  # fmt: skip
        header, end = {}, 0
        for name, (dtype, shape) in numbers.items():
            size = BYTES_OF[dtype] * math.prod(shape)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
            end += size
        text = json.dumps(header).encode()
        data = len(text).to_bytes(8, "little") + text + bytes(end)
        (model / "model.safetensors").write_bytes(data)
        done = run("refit", folder / "hf", "--on", folder / "one.txt", "--model", model, "--json",
                   "--force", "-o", tmp_path / "out", *more)  # fmt: skip
        assert done.returncode == 0, done.stderr
        told: dict[str, Any] = json.loads(done.stdout)
        return told | {"stderr": " ".join(done.stderr.split())}

    told = tell("F32")
    assert told["cost"]["model"] | {"name": ""} == {"name": "", "body": 19_264, "width": 64}
    assert "19,264 parameters outside the embeddings, width 64; --for-model" in told["stderr"]
    assert "yours?" not in told["stderr"]
    assert f"model:{19_264}:64" in told["signature"]
    named = tell("F32", "--for-model", "base")
    assert named["cost"]["model"]["body"] == 44_000_000
    assert "19,264 parameters" not in named["stderr"]
    packed = tell("I32")
    assert packed["cost"]["model"]["body"] == 44_000_000
    assert "its parameters can't be counted" in packed["stderr"]


def test_a_pattern_for_a_tokenizer_that_says_how_it_cuts_text_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    said = "a tokenizer.json of Hugging Face says itself how it cuts text: leave --pattern out"
    text = ("--on", folder / "one.txt")
    for command in (("info",), ("compare", folder / "hf", *text), ("verify", folder / "hf"),
                    ("refit", *text, "-o", tmp_path / "out"),
                    ("extend", *text, "--add", "9", "-o", tmp_path / "out")):  # fmt: skip
        name, *more = command
        done = run(name, folder / "hf", *more, "--pattern", "qwen2")
        assert done.returncode == 2 and done.stdout == "", done.stdout
        assert said in " ".join(done.stderr.split()), done.stderr
        done = run(name, folder / "hf", *more, "--pattern", "qwen")
        assert done.returncode == 2 and "did you mean byte-level:qwen2?" in done.stderr
    assert not (tmp_path / "out").exists()
    volt.learn([folder / "one.txt"], size=300).save(tmp_path / "learned")
    done = run("info", tmp_path / "learned", "--pattern", "qwen2")
    assert done.returncode == 2 and "a vocabulary of volt says itself" in done.stderr
    ranks = tmp_path / "ranks.tiktoken"
    vocabulary = volt.learn([folder / "old.txt"], size=700, pretokenizer="byte-level").vocabulary
    volt.export(vocabulary, "tiktoken", ranks)
    done = run("compare", ranks, folder / "hf", *text, "--pattern", "gpt2")
    assert done.returncode == 0, done.stderr


def small_model(folder: Path, rows: int, width: int = 64) -> Path:
    """The folder of a model with two matrices of so many rows."""
    folder.mkdir()
    settings = {"vocab_size": rows, "architectures": ["LlamaForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    length = 4 * rows * width
    header = {
        name: {"dtype": "F32", "shape": [rows, width], "data_offsets": [start, start + length]}
        for name, start in (("model.embed_tokens.weight", 0), ("lm_head.weight", length))
    }
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(2 * length)
    (folder / "model.safetensors").write_bytes(data)
    return folder


def test_that_a_model_has_to_be_trained_on_is_said_where_text_gets_longer(
    folder: Path, tmp_path: Path
) -> None:
    model = small_model(tmp_path / "model", 700)
    for size, more, said in ((300, ("--model", model), True), (300, (), False),
                             (690, ("--model", model), False)):  # fmt: skip
        done = run("refit", folder / "hf", "--on", folder / "one.txt", "--size", str(size), *more,
                   "--json", "--force", "-o", tmp_path / "out")  # fmt: skip
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        more_tokens = f"{told['after']['tokens'] / told['before']['tokens'] - 1:.0%}"
        note = f"the text is cut into {more_tokens} more tokens"
        assert (note in done.stderr) == said
        assert ("train it on before you use it" in " ".join(done.stderr.split())) == said
        saved = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
        assert any(note in message for message in saved["messages"]) == said


def test_where_the_model_is_and_how_it_is_loaded_is_said(folder: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "model", 704)
    for command, more, rows in (("refit", ("--size", "400"), 400), ("extend", ("--add", "9"), 709)):
        out = tmp_path / command
        done = run(command, folder / "hf", "--on", folder / "one.txt", *more, "--model", model,
                   "-o", out)  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = " ".join(done.stderr.split())
        size = 2 * 4 * 64 * rows / 1e6
        assert f"the model: {out / 'model'} (704 -> {rows} rows, 0.4 -> {size:.1f} MB)" in said
        assert f'next: AutoModelForCausalLM.from_pretrained("{out / "model"}")' in said
        tensors = read_header(out / "model" / "model.safetensors").tensors
        assert sum(one.end - one.start for one in tensors) == 2 * 4 * 64 * rows
        assert done.stderr.splitlines()[-1].startswith("next: volt compare ")


def test_errors_of_model_say_what_to_name(folder: Path, tmp_path: Path) -> None:
    model = small_model(tmp_path / "model", 700)
    adapter, empty = tmp_path / "adapter", tmp_path / "empty"
    for one in (adapter, empty):
        one.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    for named, said in (
        (empty, "empty is not the folder of a model: config.json is missing"),
        (adapter, "a LoRA adapter has to be merged into its model first"),
        (model / "model.safetensors", f"is a file: name the folder of the model, {model}"),
        ("some/Llama-9", "no such folder: some/Llama-9; to get files of a model of that name: "
                         "AutoModelForCausalLM.from_pretrained('some/Llama-9')"),
    ):  # fmt: skip
        done = run("refit", folder / "hf", "--on", folder / "one.txt", "--model", named,
                   "-o", tmp_path / "out")  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert said in " ".join(done.stderr.split()), done.stderr
    for more, said in (
        (("--init", "omp", "--donor", model), "--init omp needs --model"),
        (("--init", "omp", "--model", model), "--init omp needs --donor"),
        (("--init", "omp"), "--init omp needs --model and --donor"),
        (("--donor", model), "--donor needs --init omp"),
    ):
        done = run("extend", folder / "hf", "--on", folder / "one.txt", "--add", "9", *more,
                   "-o", tmp_path / "out")  # fmt: skip
        assert done.returncode == 2 and done.stderr == f"volt: {said}\n", done.stderr
    assert not (tmp_path / "out").exists()


def test_a_model_is_not_copied_where_nothing_was_removed(folder: Path, tmp_path: Path) -> None:
    small = volt.refit(folder / "hf", [folder / "old.txt"], residues=True)
    small.save(tmp_path / "small")
    model = small_model(tmp_path / "its model", len(small.vocabulary))
    done = run("refit", tmp_path / "small", "--on", folder / "old.txt", "--residues",
               "--model", model, "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"nothing was removed: {len(small.vocabulary)} tokens before")
    said = f"no token came or went, so the model was not copied: {model} stays as it is"
    assert said in " ".join(done.stderr.split()), done.stderr
    assert "next:" not in done.stderr and "the model:" not in done.stderr
    assert (tmp_path / "out" / "id_map.npy").exists()
    assert not (tmp_path / "out" / "model").exists()


def test_a_size_and_what_would_choose_one_do_not_go_together(folder: Path) -> None:
    for option, value in (("criterion", "knee"), ("profile", "paper"), ("sizes", "310,360")):
        done = run("refit", folder / "hf", "--on", folder / "one.txt", "--size", "400",
                   f"--{option}", value, "-o", folder / "none")  # fmt: skip
        said = f"volt: --size is the answer, so --{option} chooses nothing: leave one of the two"
        assert done.returncode == 2 and done.stderr.startswith(said), done.stderr
    assert not (folder / "none").exists()


def test_add_may_be_written_as_a_size(folder: Path) -> None:
    assert len(volt.extend(folder / "hf", [folder / "one.txt"], "20").added) == 20
    with pytest.raises(volt.InputError, match="lower `add`, which is 1,000"):
        volt.extend(folder / "hf", [folder / "one.txt"], "1k")
    for wrong in ("1x", "", "k"):
        with pytest.raises(volt.SettingsError, match="`add` must be a whole number such as 2000"):
            volt.extend(folder / "hf", [folder / "one.txt"], wrong)
    with pytest.raises(volt.SettingsError, match="`add` must be at least 1"):
        volt.extend(folder / "hf", [folder / "one.txt"], "0")


def test_loading_the_tokenizer_of_another_toolkit_says_what_reads_it(folder: Path) -> None:
    for place in (folder / "hf", folder / "hf" / "tokenizer.json"):
        with pytest.raises(volt.VoltError, match=r"another toolkit: .*volt\.import_vocabulary\(\)"):
            volt.load(place)


def test_a_text_that_the_tokenizer_hardly_knows_is_warned_of_first(
    folder: Path, tmp_path: Path
) -> None:
    text = tmp_path / "am.txt"
    text.write_text(
        "\u12ad\u134d\u120d \u1290\u1308\u122d \u1230\u120b\u121d\n" * 50, encoding="utf-8"
    )
    said = "of the tokens of this text are parts of characters or unknown: the tokenizer hardly"
    for quiet in ((), ("-q",)):
        done = run("refit", folder / "hf", "--on", text, "--size", "400", *quiet, "--force",
                   "-o", tmp_path / "out")  # fmt: skip
        assert done.returncode == 0 and done.stderr.startswith("warning: "), done.stderr
        assert " ".join(done.stderr.split()).count(said) == 1
        assert ("400 tokens" in done.stderr) == (not quiet)
    saved = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
    assert said in saved["messages"][0]


def test_the_size_of_the_parts_is_offered_where_it_is_far_off() -> None:
    found = {"size": 4224, "reason": "cost", "splits": [5056] * 5}
    (line,) = advice(found)
    assert "5,056, as the parts chose (--size 5056)" in line
    assert advice(found | {"splits": [4300, 5056]}) == advice(found | {"reason": "size"}) == []


def test_errors_leave_nothing(folder: Path, tmp_path: Path) -> None:
    tokenizer, text, out = folder / "hf", folder / "one.txt", tmp_path / "out"
    damaged = tmp_path / "tokenizer.json"
    damaged.write_text('{"model": {"type": "BPE", "vocab": {"a": 7}}}', encoding="utf-8")
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text('{"vocab_size": 700}', encoding="utf-8")
    (model / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    for arguments, message in (
        (("refit", tokenizer, "-o", out), "--on FILE"),
        (("refit", tokenizer, "--on", tmp_path / "none", "-o", out), "no such file"),
        (("refit", damaged, "--on", text, "-o", out), "tokenizer.json"),
        (("refit", tokenizer, "--on", text, "-o", out, "--model", model), "cut short"),
        (("refit", tokenizer, "--on", text, "-o", folder), "contains"),
        (("extend", tokenizer, "--on", text, "-o", out), "--add"),
        (
            ("refit", tokenizer, "--on", f"de={text},en={text}", "-o", out),
            f"inputs have no names here; list the files: --on {text} {text}",
        ),
        (
            ("refit", tokenizer, "--on", text, "--size", "500", "--residues", "-o", out),
            "leave out --size, or --residues",
        ),
    ):
        done = run(*arguments)
        assert done.returncode == 2, (arguments, done.stderr)
        assert message in done.stderr and "Traceback" not in done.stderr
        assert not out.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "tokenizer.json"]


def test_info_counts_residues_on_a_text_and_says_so_without_one(
    folder: Path, tmp_path: Path
) -> None:
    file = next(folder.rglob("tokenizer.json"))
    without = run("info", file)
    assert "residues" in without.stdout and "--on FILE" in without.stdout
    facts = json.loads(run("info", file, "--json").stdout)
    assert "residues" not in facts and facts["certain_residues"] == 0
    assert "certain residues" in without.stdout
    (tmp_path / "text").write_text("the old house and the cat\n" * 20)
    found = run("info", file, "--on", tmp_path / "text", "--json")
    row = volt.compare([file], tmp_path / "text").rows[0]
    assert json.loads(found.stdout)["residues"] == row.residues is not None
    assert "are counted on" not in found.stdout


def test_what_is_spelled_in_bytes_is_not_called_unknown(tmp_path: Path) -> None:
    """In `compare` unknown text is lost, and text in bytes is not."""
    vocabulary = volt.learn([["low lower lowest flow blow"] * 30], size=278).vocabulary
    vocabulary.save(tmp_path / "volt.json")
    (tmp_path / "text").write_text("low lower \u65e5\u672c\n" * 30, encoding="utf-8")
    done = run("refit", tmp_path / "volt.json", "--on", tmp_path / "text", "--size", "274",
               "-o", tmp_path / "out")  # fmt: skip
    assert done.returncode == 0, done.stderr
    share = r"\d+\.\d{3}%"
    said = rf"tokens that are <unk>, or single bytes of characters it lacks: {share} -> {share}"
    assert re.search(said, " ".join(done.stderr.split())), done.stderr


def test_the_page_names_the_own_files_and_what_it_was_made_from(
    folder: Path, tmp_path: Path
) -> None:
    for command, more, said in (("refit", ("--size", "500"), "200 taken out"),
                                ("extend", ("--add", "20"), "20 added")):  # fmt: skip
        out = tmp_path / command
        done = run(command, folder / "hf", "--on", folder / "one.txt", *more, "-o", out)
        assert done.returncode == 0, done.stderr
        assert run("report", out).returncode == 0
        page = page_data(load_material(out))  # also after the page is there
        assert page["refitted"] and not page_data(load_material(folder / "learned"))["refitted"]
        assert (page["facts"][0]["value"], page["facts"][0]["note"]) == ("700 tokens", said)
        assert page["uses"][0]["command"] == (
            "generation_config.json, special_tokens_map.json, tokenizer.json, tokenizer_config.json"
        )


def test_options_of_other_commands_are_told(folder: Path) -> None:
    for words, said in (("refit hf --text x", "--on FILE: Text or counts to fit to"),
                        ("extend hf --size 9", "--add N: Number of tokens to add")):  # fmt: skip
        assert said in run(*words.split()).stderr


def test_tokens_are_counted_by_kind_in_the_same_way(folder: Path, tmp_path: Path) -> None:
    """The single bytes of a byte-level tokenizer are bytes, whoever counts."""
    done = run("refit", folder / "hf", "--on", folder / "one.txt", "--size", "500",
               "-o", tmp_path / "out", "--json")  # fmt: skip
    kept = json.loads(done.stdout)["always_kept"]
    of_file = json.loads(run("info", folder / "hf", "--json").stdout)["tokens"]
    of_page = volt.load(tmp_path / "out").vocabulary.kind_counts
    assert kept["byte"] == of_file["byte"] == of_page["byte"] == 256 and kept["character"] == 0
