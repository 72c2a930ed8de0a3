"""The small runs that faults are injected into: at least one per command of the program."""

from __future__ import annotations

import fnmatch
import gzip
import io
import json
import os
import re
import shutil
import struct
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from volt.base.manifest import MANIFEST

SIZES = "--sizes 300:340:20 --candidates bpe:60"
SMALL = f"{SIZES} --no-report"
FEW = "--candidates bpe:60 --no-report -q -o out"
PAIRS = "--source few --target fewer --valid few fewer --test few fewer"
TRAINING = "--updates 2 --checkpoints 2 --threads 1 -q -o out"


@dataclass(frozen=True)
class Case:
    """A run of a command in a folder that `prepare_folder` made."""

    name: str
    """The command, and what is special about this run in brackets."""
    line: str
    writes_: tuple[str, ...] = ("out",)
    """Names of the outputs, folders with all that is in them; patterns."""
    force: bool = True
    """Does the output need --force to be replaced?"""
    instead: tuple[str, str] | None = ("text", "other")
    """Another input: what is made from it is the old output. None: there is no old output."""
    several: bool = False
    """Files that appear one after the other, so that `kill -9` may come between two."""
    kept: tuple[str, ...] = ()
    """What is left behind on purpose, for the next run to go on with."""
    again: str = ""
    """Options of the next run."""
    status: int = 0
    needs: tuple[str, ...] = ()
    """Modules that may be missing."""
    setup: str = ""
    """A function of this module, called in the fork before the command."""
    grows: bool = False
    """A folder that grows file by file, over several runs; its files contain times."""
    slow: bool = False
    """Takes seconds: not part of the quick selection."""

    @property
    def in_library(self) -> bool:
        """Does a library with threads of its own, or in Rust, do part of the work?"""
        foreign = self.command in ("import", "export", "compare", "verify", "refit", "extend")
        return foreign or bool({"pyarrow", "torch", "vl_convert"} & {*self.needs})

    @property
    def command(self) -> str:
        return self.name.partition(" (")[0]

    @property
    def arguments(self) -> list[str]:
        return self.line.split()

    @property
    def old(self) -> list[str]:
        if self.instead is None:
            return []
        return [self.instead[1] if word == self.instead[0] else word for word in self.arguments]

    def rerun(self, replaces: bool) -> list[str]:
        force = ["--force"] if replaces and self.force else []
        return [*self.arguments, *self.again.split(), *force]

    def writes(self, name: str) -> bool:
        return _under(name, self.writes_)

    def keeps(self, name: str) -> bool:
        return _under(name, self.kept)

    def same(self, tree: dict[str, Any]) -> dict[str, Any]:
        if not self.grows:
            return tree
        return {
            name: _timeless(name, data) if isinstance(data, bytes) else data
            for name, data in tree.items()
        }


def _under(name: str, patterns: tuple[str, ...]) -> bool:
    parents = [name[: one.start()] for one in re.finditer("/", name)]
    return any(fnmatch.fnmatchcase(one, like) for one in (name, *parents) for like in patterns)


def commands() -> Iterator[str]:
    """Every command of the program, as it is called: `learn`, `data get`."""
    from volt.cli.app import COMMANDS, app

    context = click.Context(app)
    for name in COMMANDS:
        found = app.get_command(context, name)
        if isinstance(found, click.Group):
            yield from (f"{name} {one}" for one in found.list_commands(context))
        else:
            yield name


# ------------------------------------------------------------------------------------------- cases


def _timeless(name: str, data: bytes) -> bytes:
    """Files of a trial without seconds, speed and memory."""
    if name.startswith("out/") and name.endswith(".json"):
        found = json.loads(data)
        if name.endswith(MANIFEST):  # it grows, file by file
            return b""
        found = found.get("runs", found)  # a search adds more to the results of its trial
        return json.dumps(_without_times(found), sort_keys=True).encode()
    if name.endswith(".html"):
        return data[-20:]
    return data


def _without_times(data: Any) -> Any:
    if isinstance(data, dict):
        timed = re.compile("second|timing")
        return {key: _without_times(one) for key, one in data.items() if not timed.search(key)}
    return [_without_times(one) for one in data] if isinstance(data, list) else data


def _export(form: str, model: str, *names: str, output: str = "out") -> Case:
    line = f"export -m {model} --to {form} -o {output} -q"
    return Case(
        f"export ({form})", line, names or ("out*",), instead=(model, f"{model}2"), several=True
    )


CASES = [
    Case("learn", f"learn text {SMALL} -q -o out"),
    Case("learn (page)", f"learn text {SIZES} -q -o out", needs=("vl_convert",), slow=True),
    Case("learn (sides)", f"learn --separate --source text --target more {SMALL} -q -o out"),
    Case("learn (scripts)", f"learn text greek --separate-scripts --sizes 500:620:40 {FEW}"),
    Case("learn (languages)", f"learn --lang de=text --lang en=more {SMALL} -q -o out"),
    Case("learn (ladder)", f"learn text --ladder 300,320 {FEW}"),
    Case("learn (transport)", f"learn text --select transport --size 310 {FEW}"),
    Case("learn (folder)", f"learn corpus {SMALL} -q -o out", instead=("corpus", "text")),
    Case("search", "search text --sizes 290:310:10 -q", (), False, None),
    Case("search (json)", "search text --sizes 290:310:10 -q --by muv --json", (), False, None),
    Case(
        "search (loss)",
        f"search few --by loss --sizes 285 {TRAINING}",
        force=False,
        instead=None,
        needs=("torch",),
        grows=True,
        kept=("out/runs/*/checkpoint.pt",),
        slow=True,
    ),
    Case("count", "count text -q -o out"),
    Case("count (stdout)", "count text -q", (), False, None),
    Case(
        "count (in little memory)",
        "count text --memory 256M -q -o out",
        kept=("out.spill",),
        again="--resume",
    ),
    Case(
        "count (records)",
        "count records.jsonl corpus/a.txt.gz -q -o out",
        instead=("records.jsonl", "text"),
    ),
    Case(
        "count (parquet)",
        "count records.parquet -q -o out",
        instead=("records.parquet", "text"),
        needs=("pyarrow",),
    ),
    Case(
        "count (remote)",
        "count memory://corpus -q -o out",
        instead=("memory://corpus", "text"),
        needs=("fsspec",),
        setup="fill_memory",
    ),
    Case(
        "count (remote files)",
        "count local://FOLDER/text -q -o out",
        instead=("local://FOLDER/text", "other"),
        needs=("fsspec",),
    ),
    Case("candidates", "candidates text -n 20 -q -o out"),
    Case("curve", "curve text -n 20 -q -o out"),
    Case("curve (stdout)", "curve text -n 20 -q", (), False, None),
    Case("encode", "encode -m model text -q -o out"),
    Case("encode (stdout)", "encode -m model text -q", (), False, None),
    Case(
        "encode (npy)", "encode -m model text --as npy -q -o out.npy", ("out.*npy",), several=True
    ),
    Case(
        "encode (bin)",
        "encode -m model text --as bin -q -o out.bin",
        ("out.*", "token_bytes.npy"),
        several=True,
    ),
    Case(
        "encode (megatron)",
        "encode -m model text --as megatron -q -o out",
        ("out*", "token_bytes.npy"),
        several=True,
    ),
    Case(
        "encode (datatrove)",
        "encode -m model text --as datatrove -q -o out.ds",
        ("out*", "token_bytes.npy"),
        several=True,
    ),
    Case(
        "encode (resume)",
        "encode -m model text corpus --as npy --resume -q -o out.npy",
        ("out.npy", "out.offsets.npy", "out.npy.done"),
        several=True,
        kept=("out.npy.partial",),
    ),
    Case("decode", "decode -m model tokens -q -o out", instead=("tokens", "tokens2")),
    Case(
        "decode (npy)",
        "decode -m model ids.npy --as npy -q -o out",
        instead=("ids.npy", "ids2.npy"),
    ),
    Case("decode (stdout)", "decode -m model tokens -q", (), False, None),
    _export("hf", "model"),
    _export("sentencepiece", "model", output="out.model"),
    _export("subword-nmt", "spaced"),
    _export("gpt2", "bytes"),
    _export("tiktoken", "bytes"),
    _export("fairseq", "model"),
    _export("marian", "model"),
    _export("text", "model"),
    Case(
        "import",
        "import tok/tokenizer.json -q -o out",
        instead=("tok/tokenizer.json", "tok2/tokenizer.json"),
    ),
    Case(
        "report",
        "report model -q",
        ("model/report.html",),
        force=False,
        kept=("model/.volt-files.json",),
        instead=None,
        needs=("vl_convert",),
        slow=True,
    ),
    Case(
        "plot",
        "plot model -q -o out.svg",
        ("out.svg",),
        instead=("model", "model2"),
        needs=("vl_convert",),
        slow=True,
    ),
    Case("info", "info model", (), False, None),
    Case("info (json)", "info model --json", (), False, None),
    Case("compare", "compare model tok --on text -q -o out"),
    Case("compare (stdout)", "compare model model2 --on text -q", (), False, None),
    Case("verify", "verify model tok -q", (), False, None),
    Case("verify (no)", "verify model model2 -q", (), False, None, status=1),
    Case(
        "trial",
        f"trial {PAIRS} --vocab bpe:300 {TRAINING}",
        force=False,
        instead=None,
        needs=("torch", "sacrebleu"),
        grows=True,
        kept=("out/runs/*/checkpoint.pt",),
        slow=True,
    ),
    Case(
        "trial (lm)",
        f"trial --task lm few --vocab bpe:285 {TRAINING}",
        force=False,
        instead=None,
        needs=("torch",),
        grows=True,
        kept=("out/runs/*/checkpoint.pt",),
        slow=True,
    ),
    Case("data list", "data list", (), False, None),
    Case(
        "data get",
        "data get here -q -o out",
        kept=("out.downloads",),
        instead=None,
        setup="fill_table",
    ),
    Case(
        "data clean",
        "data clean text more -o out.one out.other",
        ("out*",),
        several=True,
        instead=("text", "other"),
    ),
    Case("merge", "merge model model2 -q -o out", instead=("model2", "model")),
    Case("refit", "refit tok/tokenizer.json --on text --size 300 -q -o out"),
    Case(
        "refit (model)",
        "refit checkpoint/tokenizer.json --on text --size 300 --model checkpoint -q -o out",
    ),
    Case("extend", "extend tok/tokenizer.json --on text --add 2 -q -o out"),
    Case(
        "extend (model)",
        "extend checkpoint/tokenizer.json --on more --add 2 --model checkpoint -q -o out",
        instead=("more", "text"),
    ),
]


# ----------------------------------------------------------------------------------- what they read

TEXT = "".join(f"the cat{n % 7} sat on mat{n % 5} w{n % 50}\n" for n in range(120))
GREEK = " ".join(a + b for a in "αβγδεζηθικ" for b in "λμνξοπρστυ") + "\n"
LEARNED = {
    "model": f"learn text {SMALL} -q -o model",
    "model2": f"learn other {SMALL} -q -o model2",
    "bytes": f"learn text {SMALL} --pretokenizer byte-level --merge-rule concat -q -o bytes",
    "bytes2": f"learn other {SMALL} --pretokenizer byte-level --merge-rule concat -q -o bytes2",
    "spaced": f"learn text {SMALL} --pretokenizer whitespace -q -o spaced",
    "spaced2": f"learn other {SMALL} --pretokenizer whitespace -q -o spaced2",
    "tok": "export -m model --to hf -q -o tok",
    "tok2": "export -m model2 --to hf -q -o tok2",
    "tokens": "encode -m model text -q -o tokens",
    "tokens2": "encode -m model other -q -o tokens2",
    "ids.npy": "encode -m model text --as npy -q -o ids.npy",
    "ids2.npy": "encode -m model other --as npy -q -o ids2.npy",
}
"""What is made from the texts, and how."""


def prepare_folder(folder: Path, run: Callable[[list[str]], Any]) -> None:
    """Make all that the cases read. `run` runs a command there."""
    for name, text in {
        "text": TEXT, "other": TEXT.replace("cat", "dog"), "more": TEXT.replace("sat", "lay"),
        "few": TEXT[:600], "fewer": TEXT[:600].upper(), "greek": TEXT + GREEK,
        "records.jsonl": "".join(json.dumps({"text": one}) + "\n" for one in TEXT.splitlines()),
    }.items():  # fmt: skip
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode(), mtime=0))
    (folder / "corpus" / "b.txt").write_text(TEXT.upper())
    for line in LEARNED.values():
        run(line.split())
    checkpoint = folder / "checkpoint"
    shutil.copytree(folder / "tok", checkpoint)
    rows = len(json.loads((folder / "tok/tokenizer.json").read_text())["model"]["vocab"])
    config = {"model_type": "gpt2", "vocab_size": rows, "tie_word_embeddings": True}
    (checkpoint / "config.json").write_text(json.dumps(config))
    values = b"".join(struct.pack("<4f", *[row] * 4) for row in range(rows))
    shape = {"dtype": "F32", "shape": [rows, 4], "data_offsets": [0, len(values)]}
    head = json.dumps({"transformer.wte.weight": shape}).encode()
    stored = struct.pack("<Q", len(head)) + head + values
    (checkpoint / "model.safetensors").write_bytes(stored)
    with suppress(ImportError):
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.table({"text": TEXT.splitlines()})
        pyarrow.parquet.write_table(table, folder / "records.parquet")


def served(path: str) -> bytes | None:
    """What the server of `data get` has."""
    if path == "/b.txt":
        return TEXT.upper().encode()
    if path != "/pack.tgz":
        return None
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT.encode()))
    return gzip.compress(packed.getvalue(), mtime=0)


def fill_memory() -> None:
    """Files of fsspec's memory file system."""
    import fsspec

    system = fsspec.filesystem("memory")
    system.pipe("/corpus/a.txt", TEXT.encode())
    system.pipe("/corpus/b/c.txt", TEXT.upper().encode())


def fill_table() -> None:
    """A data set on a server of this machine, whose port is in the environment."""
    from volt.data.datasets import DATASETS, Dataset, Download, Side

    address = f"http://127.0.0.1:{os.environ['VOLT_FAULTS_PORT']}"
    os.environ["no_proxy"] = "127.0.0.1"
    DATASETS["here"] = Dataset(
        title="here", languages=("de", "en"), licence="none", source="here",
        downloads={"pack": Download(f"{address}/pack.tgz"), "one": Download(f"{address}/b.txt")},
        splits={"train": ((Side("pack", "de", "a.txt"), Side("one", "en")),)},
    )  # fmt: skip
