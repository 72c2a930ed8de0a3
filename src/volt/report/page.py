"""A folder -> report.html: one file that needs no network and runs no code but its own.

The data are JSON in elements of their own, with all that could end such an element escaped; scripts
put them into the page as text. The Content-Security-Policy names the scripts and the style by their
hash and forbids everything else, network access and `eval` included.
"""

from __future__ import annotations

import base64
import csv
import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from volt._version import __version__
from volt.base.errors import InputError
from volt.base.gate import REPORT, named, read_json, read_lines
from volt.base.schema import check, table, whole
from volt.base.shown import json_text, plural
from volt.choosing.cost import MODELS
from volt.formats import FORMATS
from volt.formats.detect import REFITTED
from volt.report.answer import answer, criterion_rows, notes
from volt.report.bundle import vega_bundle
from volt.report.compact import packed_excerpt, packed_vocabulary, packed_whole, pretokenizers
from volt.report.data import load_report
from volt.report.facts import Fact, facts, never_used
from volt.report.schemas import CURVE, JOINED_CHOICES, choices_schema
from volt.settings import in_flags
from volt.tokenizing.training_files import TRAINING_FORMS
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

if TYPE_CHECKING:
    from volt.comparison import Comparison

MOST_BYTES = 2_000_000
"""A page is kept below this; what is left out is said in it."""
EXCERPT = 30_000
"""Merged tokens of a vocabulary that is too large to be listed."""
FILES = Path(__file__).parent
SCRIPTS = [
    "packed.js", "words.js", "encoder.js", "charts.js", "base.js", "choice.js", "tokens.js",
    "vocabulary.js", "answer.js", "sizes.js", "files.js", "playground.js", "other.js", "paper.js",
    "page.js",
]  # fmt: skip


MARIAN = ("sentencepiece", "vocab.spm", "marian --vocabs vocab.spm vocab.spm ...")
"""Format, file and use for Marian, which reads models of SentencePiece that are called so."""
OF_VOLT = ("volt.json", "volt.cache", "id_map.npy", REFITTED, "curve.csv", "parts.json",
           "signature.txt", "report.html")  # fmt: skip
"""Files of a refitted folder that are not the tokenizer's own."""
REFIT = table({"before": table({"size": whole()})}, {"dropped": whole(), "added": whole()})
AS_REPORTED = ("corpus", "curve", "tokens", "transport", "files", "typical", "residues")
"""Fields of report.json that the page takes as they are."""


@dataclass(frozen=True)
class Material:
    """What a page is made from: volt.json and, where they are there, choices.json (or
    refit.json) and report.json."""

    vocabulary: Vocabulary
    choices: dict[str, Any] | None = None
    report: dict[str, Any] | None = None
    refitted: dict[str, Any] | None = None
    """What refit.json says, if `volt refit` or `volt extend` wrote the folder."""
    own_files: tuple[str, ...] = ()
    """The names of the tokenizer's own files there, rewritten."""


def load_material(folder: Path) -> Material:
    """Read a folder that `volt learn`, `volt refit`, `volt extend` or `volt import` wrote."""
    vocabulary = load_vocabulary(folder)
    if not folder.is_dir():
        folder = named(folder).parent
    choices = report = refitted = None
    own: list[str] = []
    if (folder / "choices.json").exists():
        choices = _read_choices(folder / "choices.json")
    elif (folder / REFITTED).exists():  # which says the same, if a size was chosen
        refitted = read_json(folder / REFITTED, REFIT, REPORT)
        choices = _read_choices(folder / REFITTED) if refitted.get("choices") else None
        own = sorted(
            path.name
            for path in folder.iterdir()
            if path.is_file() and path.name not in OF_VOLT and path.name[0] != "."
        )
    if (folder / "report.json").exists():
        report = load_report(folder / "report.json")
    elif (folder / "curve.csv").exists():
        report = {"curve": _read_curve(folder / "curve.csv")}
        if refitted is not None:
            exact = vocabulary.look_up is None
            report["source"] = {"name": "the tokenizer's own tokens", "exact": exact}
    return Material(vocabulary, choices, report, refitted, tuple(own))


def _read_choices(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(path, table({}), REPORT)
    if "size" not in found and "scripts" not in found:
        raise InputError(f"{path} was written by an older version of volt: learn again")
    check(JOINED_CHOICES if "scripts" in found else choices_schema, found, str(path))
    return found


def _read_curve(path: Path) -> dict[str, list[float]]:
    """The curve alone, for folders without report.json."""
    try:
        rows = list(csv.DictReader(read_lines(path, REPORT)))
        found: dict[str, list[float]] = {
            "size": [int(row["size"]) for row in rows],
            "tokens": [int(row["tokens"]) for row in rows],
            "types": [int(row["types"]) for row in rows],
            "entropy": [float(row["entropy_types"]) for row in rows],
        }
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise InputError(f"{path} is not a curve that volt wrote: {error!r}") from None
    check(CURVE, found, str(path))
    return found


def make_page(material: Material) -> bytes:
    """The page, below `MOST_BYTES`: what does not fit is left out, the least needed first."""
    bundle = vega_bundle()
    data = page_data(material)
    same = data["bpe"] and data["bpe"]["same"]
    plain = (material.report or {}).get("bpe")
    for shorter in (
        {},
        {"bpe": plain and _packed_bpe(plain, same),
         "shortened": "BPE of twice the size is left out to keep this page below 2 MB."},
        {"bpe": None, "shortened": "Plain BPE is left out to keep this page below 2 MB."},
        {"vocabulary": EXCERPT,
         "shortened": "The vocabulary is too large for a page below 2 MB: plain BPE and the "
         "playground are left out, and only the most frequent tokens are listed."},
    ):  # fmt: skip
        data |= shorter
        if data["vocabulary"] == EXCERPT:
            data["vocabulary"] = packed_excerpt(material.vocabulary, EXCERPT)
        page = fill_page("page.html", data, bundle, SCRIPTS)
        if len(page) < MOST_BYTES:
            break
    return page


def page_data(material: Material) -> dict[str, Any]:
    """All that the page's scripts read."""
    report, choices = material.report or {}, material.choices
    if choices is not None and "choices" not in choices:  # vocabularies that were joined
        choices = None
    return {
        "version": __version__,
        "signature": material.vocabulary.signature,
        "vocabulary": packed_vocabulary(material.vocabulary),
        "scaffolds": material.vocabulary.scaffolds,
        "classes": unicode_ranges(),
        "pretokenizers": pretokenizers(),
        "choices": choices,
        "answer": choices and answer_data(choices),
        "facts": [
            asdict(fact)
            for fact in [
                *made_from(material.refitted),
                *facts(material.vocabulary, choices, report),
            ]
        ],
        "refitted": material.refitted is not None,
        "models": [asdict(model) for model in MODELS.values()],
        "length": report.get("length", "types"),
        "source": report.get("source", {"name": "BPE", "exact": True}),
        **{name: report.get(name) for name in AS_REPORTED},
        "bpe": _packed_bpe(report["bpe"]) if report.get("bpe") else None,
        "unused": never_used(material.vocabulary),
        "uses": [
            *own_use(material.own_files),
            *token_files(material.vocabulary),
            *uses(material.vocabulary),
        ],
        "shortened": None,
    }


def answer_data(choices: dict[str, Any]) -> dict[str, Any]:
    """The lines that the terminal begins with."""
    found = answer(choices)
    return {
        "size": found.size,
        "why": found.why,
        "doubt": found.doubt,
        "doubt_head": found.doubt_head,
        "rows": [[name, in_flags(sentence)] for name, sentence in found.rows],
        "notes": [in_flags(note) for note in notes(choices)],
        "criteria": [asdict(row) for row in criterion_rows(choices)],
    }


def _packed_bpe(bpe: dict[str, Any], most: int | None = None) -> dict[str, Any]:
    """Plain BPE for the page, with at most so many merges."""
    left, right = bpe["left"][:most], bpe["right"][:most]
    sizes = [size for size in bpe["sizes"] if size <= len(left)]
    return bpe | {"left": packed_whole(left), "right": packed_whole(right), "sizes": sizes}


def unicode_ranges() -> list[str]:
    """Unicode version and classes as tools/page_unicode.py wrote them: the browser's own tables
    may be of another version."""
    return (FILES / "unicode.txt").read_text(encoding="ascii").split()


def made_from(refitted: dict[str, Any] | None) -> list[Fact]:
    """How large the tokenizer was that this one is made from."""
    if refitted is None:
        return []
    before, gone, new = (
        refitted["before"]["size"], refitted.get("dropped", 0), refitted.get("added", 0)
    )  # fmt: skip
    changes = [f"{gone:,} taken out"] * bool(gone) + [f"{new:,} added"] * bool(new)
    return [Fact("made from", plural(before, "token"), ", ".join(changes) or "nothing changed")]


def own_use(files: tuple[str, ...]) -> list[dict[str, str]]:
    """How to use the rewritten files of somebody's tokenizer: they are what it came as."""
    if not files:
        return []
    then = "in place of the files of these names; id_map.npy has the new id of every old one"
    return [{"name": "the tokenizer's own files", "command": ", ".join(files), "then": then,
             "refused": ""}]  # fmt: skip


def token_files(vocabulary: Vocabulary) -> list[dict[str, str]]:
    """How to write token files, for a vocabulary that a language model may be trained with."""
    if not vocabulary.rule.mode.byte_level:
        return []
    dtype = TRAINING_FORMS["bin"].dtype(len(vocabulary))
    bare = "" if vocabulary.role("eos") else " --no-document-eos"
    return [{
        "name": "token files for training",
        "command": f"volt encode -m . TEXT --as bin -o train.bin{bare}",
        "then": f'np.memmap("train.bin", "{dtype}", "r")', "refused": "",
    }]  # fmt: skip


def uses(vocabulary: Vocabulary) -> list[dict[str, str]]:
    """How to use the folder with other toolkits, run inside it: a command for every format, how to
    go on, and why the format refuses the vocabulary, if it does. Those that refuse it are last.

    Marian encodes by itself with a model of SentencePiece, where that is possible.
    """
    model = FORMATS["sentencepiece"].refuse(vocabulary) is None
    found = []
    for name, form in FORMATS.items():
        path, then = form.example
        if (written := form.encoded_as(vocabulary)) != "tokens":
            then = then.replace("encode", f"encode --as {written}")
        if vocabulary.rule.mode.byte_level:  # of a language model, which has no sides
            then = then.replace(".de", ".txt")
        if name == "marian" and model:
            name, path, then = MARIAN
        found.append({
            "name": form.toolkit, "command": f"volt export -m . --to {name} -o {path}",
            "then": then, "refused": in_flags(form.refuse(vocabulary) or ""),
        })  # fmt: skip
    return sorted(found, key=lambda use: bool(use["refused"]))


def make_comparison_page(comparison: Comparison) -> bytes:
    """The table of `volt compare` as a page, with charts."""
    from volt.comparison import COLUMNS

    columns = [{"key": one.key, "name": one.name, "meaning": one.meaning} for one in COLUMNS]
    data = {
        "version": __version__, "bits_note": comparison.bits_note, "columns": columns,
        **comparison.summary(),
    }  # fmt: skip
    return fill_page("compare.html", data, vega_bundle(), ["charts.js", "compare.js"])


# ------------------------------------------------------------------------------------ putting it in


def fill_page(template: str, data: dict[str, Any], bundle: str, scripts: list[str]) -> bytes:
    """A page of this style. Files are named by their place in this folder, or by a whole path."""
    style = _read("page.css")
    code = "\n".join(_read(name) for name in scripts)
    policy = (
        f"default-src 'none'; script-src {_hash(bundle)} {_hash(code)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = Template(_read(template)).substitute(
        policy=policy, style=style, bundle=bundle, code=code, data=embedded_json(data)
    )
    return page.encode()


def _read(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})


def embedded_json(data: Any) -> str:
    r"""JSON without anything that an HTML parser or a script could take for its own.

    >>> embedded_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    text = json_text(data, separators=(",", ":"))
    return text.translate(_ESCAPES)
