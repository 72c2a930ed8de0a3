"""Shards, partitions and what adds them up: the sum is what one machine counts."""

import json
import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import volt
from volt.counting import shards

DOCUMENTS = [f"low lower {number} newest\nwidest naïve {number % 7}" for number in range(200)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PIECE", 1000)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in DOCUMENTS))
    pq.write_table(pa.table({"text": DOCUMENTS}), tmp_path / "a.parquet", row_group_size=30)
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + "\n".join(DOCUMENTS).encode())
    (tmp_path / "long.txt").write_text("x " * 5000)
    return volt.Files([tmp_path / name for name in ("a.jsonl", "a.parquet", "a.txt", "long.txt")])


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level"])
@pytest.mark.parametrize("number", [1, 5, 64])
def test_the_sum_of_all_shards_is_the_whole(files, number, pretokenizer, tmp_path):
    whole = volt.count(files, pretokenizer=pretokenizer)
    parts = [
        volt.count(files, shard=f"{part}/{number}", pretokenizer=pretokenizer)
        for part in range(1, number + 1)
    ]
    merged = volt.merge_counts(parts)
    whole.save(tmp_path / "whole.tsv")
    merged.save(tmp_path / "merged.tsv")
    assert (tmp_path / "whole.tsv").read_bytes() == (tmp_path / "merged.tsv").read_bytes()
    if number == 5:
        assert max(part.totals.words for part in parts) < whole.totals.words * 0.7


def test_pieces_end_where_lines_do(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nbb\n\nccc\n" * 9 + b"end")
    for piece in range(1, 12):
        monkeypatch.setattr(shards, "PIECE", piece)
        (one,) = volt.counting.inputs.find_inputs(path)
        texts = [part.open_file().read() for part in shards.pieces_of(one, True)]
        texts = [text for text in texts if text]  # a line may be longer than a piece
        assert b"".join(texts) == path.read_bytes()
        assert all(text.endswith(b"\n") for text in texts[:-1])


RECORDS = [{"text": text} for text in DOCUMENTS]


@pytest.mark.parametrize(
    "batch",
    [
        DOCUMENTS, tuple(DOCUMENTS), iter(DOCUMENTS), RECORDS, {"text": DOCUMENTS},
        pa.table({"text": DOCUMENTS}),
    ],
    ids=["list", "tuple", "iterator", "records", "columns", "table"],
)  # fmt: skip
def test_a_batch_of_any_kind_is_counted(batch):
    found = volt.count_partition(batch)
    assert found.digest() == volt.count(volt.Texts(DOCUMENTS)).digest()
    assert pickle.loads(pickle.dumps(found)).digest() == found.digest()


def test_batches_that_are_not_text():
    with pytest.raises(volt.InputError, match="several texts"):
        volt.count_partition("text")
    with pytest.raises(volt.InputError, match="no field 'body'; there are: text"):
        volt.count_partition(RECORDS, field="body")
    with pytest.raises(volt.SettingsError, match="no counts to merge"):
        volt.merge_counts([])
    with pytest.raises(volt.SettingsError, match="different rules"):
        volt.merge_counts([
            volt.count_partition(["a"]), volt.count_partition(["a"], pretokenizer="whitespace")
        ])  # fmt: skip


def test_dask_bags_give_the_counts_of_one_machine():
    bag = pytest.importorskip("dask.bag")
    counted = bag.from_sequence(DOCUMENTS, npartitions=4).map_partitions(
        lambda texts: [volt.count_partition(texts, pretokenizer="byte-level")]
    )
    merged = volt.merge_counts(counted.compute(scheduler="threads"))
    assert merged.digest() == volt.count(volt.Texts(DOCUMENTS), pretokenizer="byte-level").digest()


@pytest.mark.filterwarnings("ignore")
def test_ray_data_gives_the_counts_of_one_machine():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")

    def count_batch(batch):
        return {"counts": [pickle.dumps(volt.count_partition(batch, field="text"))]}

    paths = {"PYTHONPATH": str(Path(volt.__file__).parents[1])}
    ray.init(
        num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error",
        runtime_env={"env_vars": paths},
    )  # fmt: skip
    try:
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        rows = ray.data.from_items(RECORDS).map_batches(count_batch, batch_size=60).take_all()
    finally:
        ray.shutdown()
    assert len(rows) > 1
    merged = volt.merge_counts(pickle.loads(row["counts"]) for row in rows)
    assert merged.digest() == volt.count(volt.Texts(DOCUMENTS)).digest()
