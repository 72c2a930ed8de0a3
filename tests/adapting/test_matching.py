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
    atoms = generator.normal(size=(300, 40))
    for number in (1, 3, 5):
        places = generator.choice(300, number, replace=False)
        weights = generator.uniform(1, 2, number)
        chosen, found = pursue(weights @ atoms[places], atoms, 10)
        assert sorted(chosen) == sorted(places.tolist())
        assert np.allclose(found @ atoms[chosen], weights @ atoms[places])
    assert pursue(np.zeros(40), atoms, 10)[0] == []


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
    assert any("matching pursuit" in message for message in result.messages)
    result.save(tmp_path / "out")
    found = open_checkpoint(tmp_path / "out" / "model", size + 6)
    table = table_rows(found, "model.embed_tokens.weight")
    assert np.allclose(table[:size], rows, atol=1e-6)
    norm = np.linalg.norm(rows[[i for i in range(size) if i not in extended.original.engine.named]],
                          axis=1).mean()  # fmt: skip
    for new, wanted in zip(table[size:], sums, strict=True):
        assert np.allclose(new / np.linalg.norm(new), wanted / np.linalg.norm(wanted), atol=1e-4)
        assert np.linalg.norm(new) == pytest.approx(norm, rel=1e-3)
    with pytest.raises(SettingsError, match="donor"):
        volt.extend(model, [NEW], 6, model=model, init="omp")
