"""Rows of new tokens by orthogonal matching pursuit against a donor."""

import json
from pathlib import Path

import numpy as np
import pytest
from published import hugging_face

import volt
from volt.adapting.checkpoint import open_checkpoint, table_rows
from volt.adapting.matching import pursue
from volt.base.errors import SettingsError

NEW = ["quartz vexing jumble synthetic embeddings polynomial quartzite\n" * 9]


def test_a_sum_of_few_atoms_is_found_again():
    generator = np.random.default_rng(1)
    atoms = generator.normal(size=(300, 200))
    targets, wanted, reports = [np.zeros(200)], [[]], []
    for number in (1, 3, 5) * 30:
        places = generator.choice(300, number, replace=False)
        targets.append(generator.uniform(1, 2, number) @ atoms[places])
        wanted.append(sorted(places.tolist()))
    found = pursue(np.array(targets), atoms, 10, reports.append)
    assert reports == [64, 91]
    for target, places, (chosen, weights) in zip(targets, wanted, found, strict=True):
        assert set(places) <= set(chosen) and np.allclose(weights @ atoms[chosen], target)
    assert found[0][0] == [] and found[1][0] == wanted[1]
    twice = np.concatenate([atoms[:5], atoms[:5]])  # no atom is taken twice under two numbers
    (only,) = pursue(atoms[7:8], twice, 10, reports.append)
    assert len(only[0]) == 5


def test_many_rows_take_the_steps_that_one_row_takes():
    """Against the definition: least squares after every step."""
    generator = np.random.default_rng(3)
    atoms, targets = generator.normal(size=(80, 12)), generator.normal(size=(9, 12))
    unit = atoms / np.linalg.norm(atoms, axis=1)[:, None]
    for target, (chosen, weights) in zip(
        targets, pursue(targets, atoms, 8, lambda done: None), strict=True
    ):
        steps: list[int] = []
        rest = target
        for _ in range(8):
            steps.append(int(np.argmax(np.abs(unit @ rest))))
            found = np.linalg.lstsq(atoms[steps].T, target, rcond=None)[0]
            rest = target - found @ atoms[steps]
        assert chosen == steps and np.allclose(weights, found)


def save_model(folder: Path, table: np.ndarray, tokenizer: bytes) -> Path:
    folder.mkdir()
    data = table.astype("<f4").tobytes()
    name = "model.embed_tokens.weight"
    entry = {"dtype": "F32", "shape": list(table.shape), "data_offsets": [0, len(data)]}
    head = json.dumps({name: entry}).encode()
    head += b" " * (-len(head) % 8)
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
    (folder / "config.json").write_text(json.dumps({"vocab_size": len(table)}))
    (folder / "tokenizer.json").write_bytes(tokenizer)
    return folder


def test_new_rows_follow_the_donor(tmp_path):
    """The donor is the model turned around, and has the new tokens as sums of two others."""
    generator = np.random.default_rng(2)
    (tmp_path / "t.json").write_text(hugging_face("gpt2"))
    extended = volt.extend(tmp_path / "t.json", [NEW], 6)
    extended.save(tmp_path / "larger")
    size, width = len(extended.id_map), 48
    rows = generator.normal(size=(size, width))
    model = save_model(tmp_path / "model", rows, (tmp_path / "t.json").read_bytes())
    turn, _ = np.linalg.qr(generator.normal(size=(width, width)))
    pairs = generator.choice(np.arange(300, size), (6, 2), replace=False)
    sums = rows[pairs].sum(axis=1)
    donor = save_model(
        tmp_path / "donor", np.concatenate([rows, sums]) @ turn,
        (tmp_path / "larger" / "tokenizer.json").read_bytes(),
    )  # fmt: skip
    result = volt.extend(model, [NEW], 6, model=model, init="omp", donor=donor)
    (told,) = [message for message in result.messages if "matching pursuit" in message]
    assert f"6 of the 6 new ones are tokens of the donor {donor}" in told
    result.save(tmp_path / "out")
    found = open_checkpoint(tmp_path / "out" / "model", size + 6)
    table = table_rows(found, "model.embed_tokens.weight")
    assert np.allclose(table[:size], rows, atol=1e-6)
    norm = np.linalg.norm(rows[[i for i in range(size) if i not in extended.original.engine.named]],
                          axis=1).mean()  # fmt: skip
    for new, wanted in zip(table[size:], sums, strict=True):
        assert np.allclose(new / np.linalg.norm(new), wanted / np.linalg.norm(wanted), atol=1e-4)
        assert np.linalg.norm(new) == pytest.approx(norm, rel=1e-3)
    poor = save_model(tmp_path / "poor", rows, (tmp_path / "t.json").read_bytes())
    result = volt.extend(model, [NEW], 6, model=model, init="omp", donor=poor)
    assert any("poor has few of the new tokens: the other 6 rows" in m for m in result.messages)
    with pytest.raises(SettingsError, match="donor"):
        volt.extend(model, [NEW], 6, model=model, init="omp")
