"""Spark on a real local cluster: two executors, their Python workers, and a killer."""

import bz2
import gzip
import json
import os
import random
import shutil
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import volt
from volt.base.errors import InputError, SettingsError
from volt.counting import spark
from volt.tokenizing.spark import encode_on_spark

pytest.importorskip("pyspark", reason="needs Spark: make large")
pytest.importorskip("pyarrow", reason="needs pyarrow")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java 17"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::ResourceWarning"),
]

SPARK = {
    "spark.ui.enabled": "false",
    "spark.sql.files.maxPartitionBytes": "32k",  # so that small files have many partitions
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "1g",
}


@pytest.fixture(scope="module")
def cluster():
    """A session at two executors of one core each."""
    told = " ".join(f"--conf {name}={value}" for name, value in SPARK.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{told} pyspark-shell")
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        interrupt = signal.getsignal(signal.SIGINT)
        with spark.session("local-cluster[2,1,1024]") as session:
            assert signal.getsignal(signal.SIGINT) is interrupt  # Ctrl-C ends volt, not a job
            yield session


def text_of(lines: int, seed: int) -> bytes:
    """Lines with what readers stumble over."""
    chooser = random.Random(seed)
    odd = [
        "größe",
        "日本",
        "a\u2581b",
        "x\ry",
        "\ufeffmid",
        "e\u0301",
        "\u2028",
        "don't",
        "3.14",
        "",
    ]
    rows = []
    for _ in range(lines):
        words = [f"w{int(chooser.paretovariate(0.5)) % 5000}" for _ in range(chooser.randrange(12))]
        if chooser.random() < 0.2:
            words.append(chooser.choice(odd))
        rows.append(" ".join(words) + chooser.choice(["\n", "\n", "\r\n"]))
    return "".join(rows).encode()


def saved(counts, path: Path) -> bytes:
    counts.save(path)
    return path.read_bytes()


def test_files_are_read_as_on_one_machine(cluster, tmp_path):
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    text = text_of(3000, 1)
    (folder / "mark.txt").write_bytes(b"\xef\xbb\xbf" + text + b"no line end")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "deeper" / "packed.txt.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + text[:5000]))
    (folder / "twice.gz").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n\n"))
    (folder / "packed.bz2").write_bytes(bz2.compress(text))
    (folder / "bad.txt").write_bytes(b"fine\nb\xffad \xe2\x28\xa1\n\xef\xbb\xbfend\n")
    rule = {"on_invalid": "replace", "normalize": "nfkc", "min_count": 2, "max_word_length": 6}
    found = spark.count_on_spark(cluster, [str(folder)], **rule)
    assert saved(found, tmp_path / "found") == saved(
        volt.count(folder, **rule), tmp_path / "expected"
    )
    with pytest.raises(
        InputError, match=r"bad\.txt: invalid UTF-8 \(0xFF\) in the line b'b\\xffad"
    ):
        spark.count_on_spark(cluster, [str(folder)])


def test_kinds_of_files_and_weights_are_added_up(cluster, tmp_path):
    sql = cluster.createDataFrame([("a b\nc",), (None,), ("b\r",)], "doc string")
    sql.write.parquet(str(tmp_path / "table.parquet"))
    rows = [{"doc": "b ü"}, {"doc": None}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "plain").write_text("c c\n")
    names = [str(tmp_path / name) for name in ("table.parquet", "rows.jsonl", "plain")]
    with pytest.warns(volt.VoltWarning, match="left out 2 nulls"):
        found = spark.count_on_spark(cluster, [names[0], names[1] + ":0.5", names[2]], field="doc")
    expected = volt.count([["a b\nc", "b\r"], ["b ü"], ["c c"]], weights=["1", "0.5", "1"])
    assert saved(found, tmp_path / "found") == saved(expected, tmp_path / "expected")

    with pytest.raises(InputError, match=r"no column 'text'; there are: doc"):
        spark.count_on_spark(cluster, [names[0]])
    with pytest.raises(InputError, match=r"rows\.jsonl: no field named text.*; there are: doc"):
        spark.count_on_spark(cluster, [names[1]])
    (tmp_path / "cut.jsonl").write_text('{"doc": "a"}\n{"doc": "b\n')
    with pytest.raises(InputError, match=r"cut\.jsonl"):
        spark.count_on_spark(cluster, [str(tmp_path / "cut.jsonl")], field="doc")
    with pytest.raises(InputError, match="does not exist"):
        spark.count_on_spark(cluster, [str(tmp_path / "nothing")])
    with pytest.raises(InputError, match="does not read xz"):
        spark.count_on_spark(cluster, ["text.xz"])


@pytest.mark.parametrize("rule", [{}, {"pretokenizer": "byte-level"}], ids=["lines", "documents"])
def test_samples_and_mixtures_are_those_of_one_machine(cluster, tmp_path, rule):
    lines = text_of(400, 3).decode().splitlines(keepends=True)
    texts = ["".join(lines[at : at + 7]) for at in range(0, len(lines), 7)]
    (tmp_path / "web").mkdir()
    for number, text in enumerate(texts[:20]):
        (tmp_path / "web" / f"{number}.txt").write_bytes(text.encode())
    (tmp_path / "web" / "mark.txt").write_bytes(b"\xef\xbb\xbf" + texts[20].encode())
    rows = [{"text": text} for text in texts[20:]]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cluster.createDataFrame([(text,) for text in texts], "text string").write.parquet(
        str(tmp_path / "c.parquet")
    )
    options = {"mix": "web=0.5,code=0.3,math=0.2", "sample": "4k", "seed": 3, "document_cap": 60}
    inputs = [f"web={tmp_path / 'web'}", f"code={tmp_path / 'a.jsonl'}",
              f"math={tmp_path / 'c.parquet'}:2"]  # fmt: skip
    found = spark.count_on_spark(cluster, inputs, **options, **rule)
    expected = volt.count(inputs, **options, **rule)
    assert saved(found, tmp_path / "found") == saved(expected, tmp_path / "expected")
    kept = [(one.name, one.kept_bytes, one.kept_documents) for one in expected.sample.groups]
    assert [(one.name, one.kept_bytes, one.kept_documents) for one in found.sample.groups] == kept
    assert 0 < found.sample.total("kept_documents") < found.sample.total("read_documents")
    with pytest.raises(SettingsError, match="`shard`"):
        spark.count_on_spark(cluster, inputs[:1], shard="1/2")


def test_nothing_is_counted_where_there_is_nothing(cluster, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    found = spark.count_on_spark(cluster, [str(tmp_path / "empty")])
    expected = volt.count(tmp_path / "empty")
    assert saved(found, tmp_path / "found") == saved(expected, tmp_path / "expected")


def descendants(of: int) -> dict[int, str]:
    """The processes below one, with their command lines."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text()
                commands[int(entry.name)] = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                )
            except OSError:
                continue
            parents[int(entry.name)] = int(status.rpartition(")")[2].split()[1])
    found, last = {}, {of}
    while last:
        last = {process for process, parent in parents.items() if parent in last}
        found.update({process: commands[process] for process in last})
    return found


@contextmanager
def killing(cluster, victim: str):
    """Kill a process of the cluster when some tasks of a stage are done and most are not."""
    tracker = cluster.sparkContext.statusTracker()
    killed: list[int] = []
    over = threading.Event()

    def kill_one():
        while not over.is_set():
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                if 2 <= stage.numCompletedTasks < stage.numTasks // 2:
                    process = min(p for p, c in descendants(os.getpid()).items() if victim in c)
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    return
            time.sleep(0.01)

    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


VICTIMS = ("CoarseGrainedExecutorBackend", "pyspark.daemon")
LINES = (40_000, 80_000, 160_000)
"""A longer job, if one was over before the kill."""
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="needs /proc to find processes"
)


@needs_proc
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_worker_killed_in_mid_job_changes_nothing(cluster, tmp_path, victim):
    file = tmp_path / "text.txt"
    for lines in LINES:
        file.write_bytes(text_of(lines, 2))
        with killing(cluster, victim) as killed:
            found = spark.count_on_spark(cluster, [str(file)])
        if killed:
            break
    assert killed
    assert saved(found, tmp_path / "found") == saved(volt.count(file), tmp_path / "expected")


@needs_proc
@pytest.mark.parametrize("victim", VICTIMS)
def test_a_worker_killed_while_it_encodes_changes_nothing(cluster, tmp_path, victim):
    tokenizer = volt.Tokenizer(volt.learn([["low lower lowest slow größe"] * 9]).vocabulary)
    for lines in LINES:
        texts = text_of(lines, 3).decode().split("\n")
        source, out = str(tmp_path / f"in{lines}"), str(tmp_path / f"out{lines}")
        rows = cluster.createDataFrame(list(enumerate(texts)), "id long, text string")
        rows.repartition(24).write.parquet(source)
        with killing(cluster, victim) as killed:
            encode_on_spark(cluster, tokenizer, [source], out)
        if killed:
            break
    assert killed
    written = sorted((row["id"], row["ids"]) for row in cluster.read.parquet(out).collect())
    assert written == list(enumerate(tokenizer.encode_batch(texts)))


def test_parquet_is_encoded_to_parquet(cluster, tmp_path):
    learned = volt.learn([["low lower lowest slow größe"] * 9], size=280)
    tokenizer = volt.Tokenizer(learned.vocabulary)
    texts = ["low slow", None, "", "größe\n日本", "</s> low"]
    rows = list(enumerate(texts))
    cluster.createDataFrame(rows, "id long, doc string").write.parquet(str(tmp_path / "in"))
    out = str(tmp_path / "out")
    encode_on_spark(cluster, tokenizer, [str(tmp_path / "in")], out, field="doc")
    written = {row["id"]: (row["doc"], row["ids"]) for row in cluster.read.parquet(out).collect()}
    expected = {i: (t, None if t is None else tokenizer.encode(t)) for i, t in rows}
    assert written == expected

    with pytest.raises(InputError, match="already exists"):
        encode_on_spark(cluster, tokenizer, [str(tmp_path / "in")], out, field="doc")
    with pytest.raises(SettingsError, match="already a column 'doc'"):
        encode_on_spark(cluster, tokenizer, [str(tmp_path / "in")], out, field="doc", column="doc")
    with pytest.raises(SettingsError, match="not special tokens: <x>"):
        encode_on_spark(cluster, tokenizer, [out], out, allowed_special=["<x>"])
