"""Benchmark of other people's tokenizers: importing and loading a large vocabulary, Unigram models
of SentencePiece, and the normalizers of Hugging Face.

    python benchmarks/foreign.py -o benchmarks/results/foreign.json
    python benchmarks/foreign.py --text FILE... -o benchmarks/results/foreign.json

Without `--text`, the text is made by `generate.py`. Five parts, each beside the library that the
file belongs to:

- load: `volt.load` of an imported byte-level vocabulary of 128,000 and of 200,000 tokens, and
  `tokenizers.Tokenizer.from_file` of the file that it was imported from;
- import: the command `volt import` of that file, after Python's imports: reading, understanding,
  `volt.json` and its cache written, and both encoders compared on the built-in texts, for which
  the library reads the file too; and `from_file` alone;
- read: the same without the comparison: `volt.import_vocabulary` and `save`;
- unigram: a SentencePiece model of 32,000 pieces encodes lines;
- normalizers: a tokenizer with one more normalizer step encodes lines. `odd` lines consist of what
  normalizers change: combining marks, Hangul letters, ligatures, full-width and control characters.

Nothing is timed before the ids of both are the same. Every run is a process of its own that was
forked when everything had been imported, and has copies of its lines; contenders take turns. CPU
time is that of all threads, and it is what is judged; lines are encoded on one thread.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import tokenizers
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers

import volt
import volt.cli.app
import volt.cli.import_
import volt.verification
from generate import SCRIPTS, write_text
from measure import MEGABYTE, _machine, _prepare, _save
from page import _table

SIZES = (128_000, 200_000)
PIECES, MERGES = 32_000, 8_000  # of the Unigram model, and of the tokenizer with normalizers
AT_LEAST = {"load": 5.0, "import": 0.5, "read": 0.5, "unigram": 2.0, "normalizers": 1.0}
GATE_LINES = 2_000
ODD = ("e\u0301", "a\u0323\u0302", "\u1100\u1161\u11a8", "가\u11a8", "ﬁ", "①", "½", "™", "Å", "İ",
       "ｶﾞ", "が", "ΑΣ", "\u00a0\u0301", "中文", "ﷺ", "\u0301", "e\u0302\u0301", "  ", "\t",
       "\u200d", "\x07", "word", "don't", " ", " ", " ")  # fmt: skip

Work = Callable[[], Any]
Lines = Callable[[list[str]], Any]  # encodes them


def forked(work: Work) -> tuple[float, float]:
    """CPU and wall seconds of some work, in a process of its own."""
    return forked_with([], lambda lines: work())


def forked_with(lines: list[str], work: Lines) -> tuple[float, float]:
    """The same with lines. They are copied first: a process that was forked copies every page that
    it writes a reference count to, which is not what is measured."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            lines = [(line + " ")[:-1] for line in lines]
            before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            work(lines)
            wall = time.perf_counter() - started
            after = resource.getrusage(resource.RUSAGE_SELF)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            os.write(write, json.dumps([cpu, wall]).encode())
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        data = stream.read()
    if os.waitpid(child, 0)[1] != 0:
        raise SystemExit("a contender failed, so nothing was measured")
    cpu, wall = json.loads(data)
    return cpu, wall


def aside(work: Work) -> None:
    """Do something without leaving its caches and threads in this process."""
    forked(work)


def compared(part: str, name: str, own: Work, peer: Work, runs: int) -> dict[str, Any]:
    """Run volt and the library in turn."""
    return compared_with([], part, name, lambda lines: own(), lambda lines: peer(), runs)


def compared_with(
    lines: list[str], part: str, name: str, own: Lines, peer: Lines, runs: int
) -> dict[str, Any]:
    """The same with lines."""
    seconds: dict[str, list[tuple[float, float]]] = {"volt": [], "library": []}
    for _ in range(runs):
        for who, work in (("volt", own), ("library", peer)):
            seconds[who].append(forked_with(lines, work))
    row: dict[str, Any] = {"part": part, "name": name, "at_least": AT_LEAST[part]}
    for who, found in seconds.items():
        cpu, wall = zip(*found, strict=True)
        row[who] = {
            "cpu_seconds": cpu, "wall_seconds": wall,
            "median_cpu_seconds": statistics.median(cpu),
            "median_wall_seconds": statistics.median(wall),
        }  # fmt: skip
    for kind in ("cpu", "wall"):
        key = f"median_{kind}_seconds"
        row[f"{kind}_ratio"] = row["library"][key] / row["volt"][key]
    row["passed"] = row["cpu_ratio"] >= row["at_least"]
    print(f"{part}, {name}: {row['cpu_ratio']:.2f} of {row['at_least']:g}", file=sys.stderr)
    return row


def require_same(name: str, ours: Sequence[Any], theirs: Sequence[Any]) -> None:
    """The gate."""
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if list(mine) != list(other):
            raise SystemExit(f"{name}: other ids in line {number}, so nothing was measured")


# ---------------------------------------------------------------------------------- load and import


def make_vocabularies(text: Path, folder: Path) -> None:
    """A tokenizer.json for each size."""
    counts = volt.count(text, pretokenizer="byte-level:cl100k")
    for size in SIZES:
        learned = volt.learn(counts, size=size, merges=size + 5_000)
        volt.export(learned.vocabulary, "hf", folder / str(size))


def run_import(file: Path, output: Path) -> None:
    sys.argv = ["volt", "import", str(file), "-o", str(output), "--force", "--quiet"]
    try:
        volt.cli.main()
    except SystemExit as ended:
        if ended.code:
            raise


def reading(text: Path, lines: list[str], folder: Path, runs: int) -> list[dict[str, Any]]:
    aside(lambda: make_vocabularies(text, folder))
    rows = []
    for size in SIZES:
        file, output = folder / str(size) / "tokenizer.json", folder / f"volt-{size}"

        def gate(size: int = size, file: Path = file, output: Path = output) -> None:
            run_import(file, output)
            library = tokenizers.Tokenizer.from_file(str(file))
            found = library.encode_batch_fast(lines, add_special_tokens=False)
            ours = volt.load(output).encode_batch(lines)
            require_same(str(size), ours, [one.ids for one in found])
            if not volt.verification.verify(file, output).same:
                raise SystemExit(f"{size}: other ids of the built-in texts")

        aside(gate)

        def from_file(file: Path = file) -> None:
            tokenizers.Tokenizer.from_file(str(file))

        def load(output: Path = output) -> None:
            volt.load(output)

        def convert(file: Path = file, output: Path = output) -> None:
            run_import(file, output)

        rows.append(compared("load", f"{size:,} tokens", load, from_file, runs))

        def read_and_save(file: Path = file, output: Path = output) -> None:
            volt.import_vocabulary(file)[0].save(output / "volt.json")

        rows.append(compared("import", f"{size:,} tokens", convert, from_file, runs))
        rows.append(compared("read", f"{size:,} tokens", read_and_save, from_file, runs))
    return rows


# ------------------------------------------------------------------------------------------ unigram


def unigram(lines: list[str], folder: Path, runs: int) -> dict[str, Any]:
    file = folder / "unigram.model"

    def train() -> None:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=model, vocab_size=PIECES,
            hard_vocab_limit=False, minloglevel=2, input_sentence_size=30_000,
        )  # fmt: skip
        file.write_bytes(model.getvalue())

    aside(train)
    own = volt.Tokenizer(volt.import_vocabulary(file)[0], threads=1)
    peer = sentencepiece.SentencePieceProcessor(model_file=str(file))
    some = lines[:GATE_LINES]
    require_same("unigram", own.encode_batch(some), peer.encode(some))
    name = f"SentencePiece Unigram, {len(own):,} pieces"
    return compared_with(
        lines, "unigram", name, own.encode_batch,
        lambda lines: peer.encode(lines, num_threads=1), runs,
    )  # fmt: skip


# -------------------------------------------------------------------------------------- normalizers


def steps(lines: list[str]) -> Mapping[str, Any]:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines[:2_000]), model_writer=model, vocab_size=500,
        hard_vocab_limit=False, minloglevel=2, normalization_rule_name="nmt_nfkc",
    )  # fmt: skip
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    table = proto.normalizer_spec.precompiled_charsmap
    return {
        "NFC": normalizers.NFC(),
        "NFD": normalizers.NFD(),
        "NFKC": normalizers.NFKC(),
        "NFKD": normalizers.NFKD(),
        "Lowercase": normalizers.Lowercase(),
        "StripAccents": normalizers.StripAccents(),
        "Strip": normalizers.Strip(),
        "Replace of a string": normalizers.Replace("e", "3"),
        "Replace of ` {2,}`": normalizers.Replace(Regex(" {2,}"), " "),
        "Nmt": normalizers.Nmt(),
        "Precompiled (nmt_nfkc)": normalizers.Precompiled(table),
        "BertNormalizer": normalizers.BertNormalizer(),
        "NFD, Lowercase, StripAccents": normalizers.Sequence(
            [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
        ),
        "Prepend, Replace (Llama 2)": normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        ),
    }


def trained(lines: list[str], spaces: bool) -> str:
    """A tokenizer.json without a normalizer: of byte-level text, or of text with `▁`."""
    other = tokenizers.Tokenizer(models.BPE(unk_token="<unk>") if spaces else models.BPE())
    letters = [] if spaces else pre_tokenizers.ByteLevel.alphabet()
    if not spaces:
        other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=MERGES, special_tokens=["<unk>"], show_progress=False, initial_alphabet=letters
    )
    if spaces:  # trained on words, as it is used without a pre-tokenizer
        lines = [f"▁{word}" for line in lines for word in line.split()]
    other.train_from_iterator(lines, trainer)
    return str(other.to_str())


def normalizing(lines: list[str], folder: Path, runs: int) -> list[dict[str, Any]]:
    draw = random.Random(7)
    size = sum(map(len, lines)) // 4
    odd = ["".join(draw.choices(ODD, k=60)) for _ in range(max(1, size // 90))]
    some = lines[:: max(1, len(lines) // 20_000)]
    made = {spaces: trained(some, spaces) for spaces in (False, True)}
    rows = []
    for name, step in steps(lines).items():
        other = tokenizers.Tokenizer.from_str(made[name.startswith("Prepend")])
        other.normalizer = step
        file = folder / "normalizer.json"
        other.save(str(file))
        own = volt.Tokenizer(volt.import_vocabulary(file)[0], threads=1)
        for kind, text in (("", lines), (", odd", odd)):
            first = text[:GATE_LINES]
            found = other.encode_batch_fast(first, add_special_tokens=False)
            require_same(name + kind, own.encode_batch(first), [one.ids for one in found])
            rows.append(compared_with(
                text, "normalizers", name + kind, own.encode_batch,
                lambda text, other=other: other.encode_batch_fast(text, add_special_tokens=False),
                runs,
            ))  # fmt: skip
    return rows


# --------------------------------------------------------------------------------------------- main


def section(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    rows = [
        [row["part"], row["name"],
         *(f"{row[who][f'median_{kind}_seconds']:.3f} s"
           for kind in ("cpu", "wall") for who in ("volt", "library")),
         f"{row['cpu_ratio']:.2f}x", f"{row['wall_ratio']:.2f}x", f"{row['at_least']:g}x",
         "yes" if row["passed"] else "no"]
        for row in result["rows"]
    ]  # fmt: skip
    head = ["", "", "volt, CPU", "library, CPU", "volt, wall", "library, wall",
            "library / volt, CPU", "wall", "at least", ""]  # fmt: skip
    return "\n".join([
        "Other people's files, beside `tokenizers` "
        f"{tokenizers.__version__} and `sentencepiece` {sentencepiece.__version__}. Made by", "",
        f"    {result['command']}", "",
        f"on {result['megabytes']:.1f} MB of text, {machine['cpu']}, {machine['cores']} cores, "
        f"Python {machine['python']}. Medians of {result['runs']} runs in turn, each in a process "
        "of its own, after imports. Ids were the same in all cases. `import` includes the check "
        "against the library, which reads the file for it.", "", *_table(head, rows),
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, nargs="+", metavar="FILE", help="default: made")
    parser.add_argument("--megabytes", type=float, default=60, help="of text, for vocabularies")
    parser.add_argument(
        "--encoded",
        type=float,
        default=20,
        help="MB of it that are encoded, and a fifth with normalizers",
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    shown = ["python benchmarks/foreign.py"]
    if asked.text:
        shown += ["--text", *(path.name for path in asked.text)]
    shown += [f"--megabytes {asked.megabytes:g} --encoded {asked.encoded:g} --runs {asked.runs}"]
    with tempfile.TemporaryDirectory(prefix="volt-bench-") as name:
        folder = Path(name)
        text = folder / "made.txt"
        if asked.text:
            text = _prepare(asked.text, asked.megabytes, folder)
        else:
            write_text([*SCRIPTS], asked.megabytes, 0, text)
        megabytes = text.stat().st_size / MEGABYTE
        lines = some_lines(text, int(asked.encoded * MEGABYTE))
        rows = reading(text, lines[:GATE_LINES], folder, asked.runs)
        rows.append(unigram(lines, folder, asked.runs))
        rows += normalizing(lines[::5], folder, asked.runs)
    result: dict[str, Any] = {
        "stage": "foreign", "title": "Other people's tokenizers", "command": " ".join(shown),
        "machine": _machine(), "megabytes": megabytes, "runs": asked.runs, "rows": rows,
    }  # fmt: skip
    result["section"] = section(result)
    print(result["section"])
    if asked.output:
        _save(result, asked.output)
    return 0


def some_lines(text: Path, most: int) -> list[str]:
    """Lines from all of a text, so that all its languages are there."""
    lines = text.read_text(encoding="utf-8").split("\n")
    every = max(1, text.stat().st_size // most)
    return lines[:-1][::every]


if __name__ == "__main__":
    sys.exit(main())
