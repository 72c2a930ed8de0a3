"""The study goes on from its records: what is there is not trained again, and other settings are
not mixed in."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cipher import sentences

pytest.importorskip("torch", reason="needs torch: make large")
import torch

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    torch.set_num_threads(1)
    module = importlib.import_module("study")
    folder = tmp_path / "data" / "toy"
    folder.mkdir(parents=True)
    for number, split in enumerate(("train", "valid", "test")):
        lines = sentences(600 if split == "train" else 30, number, words=300)
        (folder / f"{split}.xx").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "study").mkdir()
    monkeypatch.setattr(module, "RESULTS", tmp_path / "study")
    toy = module.Experiment(
        "toy", "toy", ("xx",), 2, ("auto", "bpe:250", "grid:6"), training={"checkpoints": 2}
    )
    monkeypatch.setattr(module, "EXPERIMENTS", (toy,))
    return module


def call(study, tmp_path, monkeypatch, capsys, work="work"):
    given = ["study.py", "--data", str(tmp_path / "data"), "--work", str(tmp_path / work)]
    monkeypatch.setattr(sys, "argv", given)
    study.main()
    return capsys.readouterr().err


def test_models_are_trained_once(study, tmp_path, monkeypatch, capsys):
    said = call(study, tmp_path, monkeypatch, capsys)
    assert "toy grid:6 seed 0: " in said
    path = tmp_path / "study" / "toy.json"
    first = json.loads(path.read_text(encoding="utf-8"))
    assert {one["vocabulary"] for one in first["records"]} == set(first["roles"])
    assert all(one["experiment"] == "toy" and one["bits_per_byte"] > 0 for one in first["records"])
    smallest = first["corpus"]["smallest"]
    assert first["roles"][f"bpe:{smallest}"] == ["bpe:250"]  # as small as the text allows
    assert "grid:6" in first["roles"][f"bpe:{first['corpus']['largest']}"]
    assert first["corpus"]["choices"]["auto"]["size"] in [
        one["size"] for one in first["records"] if "auto" in first["roles"][one["vocabulary"]]
    ]
    assert set(first["corpus"]["quality"]) == {"2", "3", "4"}
    # Another machine has the records, but not the folder of checkpoints.
    again = call(study, tmp_path, monkeypatch, capsys, work="elsewhere")
    assert "bits per byte" not in again
    assert again.count("there already") >= 3
    assert json.loads(path.read_text(encoding="utf-8")) == first


def test_records_of_another_text_are_left_alone(study, tmp_path, monkeypatch, capsys):
    call(study, tmp_path, monkeypatch, capsys)
    path = tmp_path / "study" / "toy.json"
    before = path.read_text(encoding="utf-8")
    with (tmp_path / "data" / "toy" / "train.xx").open("a", encoding="utf-8") as stream:
        stream.write("one more\n")
    said = call(study, tmp_path, monkeypatch, capsys)
    assert "toy is left as it is: toy.json was made with another data" in said
    assert path.read_text(encoding="utf-8") == before


def test_close_sizes_get_a_second_seed(study, tmp_path, monkeypatch, capsys):
    call(study, tmp_path, monkeypatch, capsys)
    path = tmp_path / "study" / "toy.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored["records"] = [one for one in stored["records"] if one["seed"] == 0]
    for number, one in enumerate(stored["records"]):
        one["bits_per_byte"] = 2.0 + 0.001 * number if number < 2 else 3.0
    path.write_text(json.dumps(stored), encoding="utf-8")
    near = [one["vocabulary"] for one in stored["records"][:2]]
    said = call(study, tmp_path, monkeypatch, capsys)
    found = json.loads(path.read_text(encoding="utf-8"))["records"]
    assert sorted(one["vocabulary"] for one in found if one["seed"] == 1) == sorted(near)
    assert said.count("bits per byte") == 2


def test_an_experiment_keeps_the_precision_that_it_was_begun_with(study, monkeypatch):
    (toy,) = study.EXPERIMENTS
    after = replace(toy, name="longer", of="toy")
    for able, fastest in ((True, "bfloat16"), (False, "float32")):
        known = {"amx_bf16": able, "avx512_bf16": False}
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda known=known: known)
        assert study.precision_for(toy) == study.precision_for(after) == fastest
    record = {"training": {"precision": "bfloat16"}}
    (study.RESULTS / "toy.json").write_text(json.dumps(record), encoding="utf-8")
    assert study.precision_for(toy) == study.precision_for(after) == "bfloat16"
