"""The recipes of CONTRIBUTING.md: an entry in a registry is all that a new criterion, source,
format, pre-tokenizer or normalizer needs. The command line, the docs and the report find it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import volt
from volt.base.errors import SettingsError
from volt.choosing.criteria import CRITERIA, Criterion, Evidence, Score
from volt.cli.app import app
from volt.counting.normalizers import NORMALIZERS, Cut, Normalizer, NormalizerStep
from volt.counting.words import PRETOKENIZERS, WordRule
from volt.formats import FORMATS, Format
from volt.proposing.proposal import SOURCES, Proposal, Source
from volt.proposing.spelling import piece_candidates
from volt.proposing.tokens import Token
from volt.report.data import collect
from volt.report.page import uses
from volt.tokenizing.vocabulary import Vocabulary

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import cli_docs
import registry_docs

LINES = "low low lower lower slow slow slowest lowest\n" * 3


@contextmanager
def registered(registry, entry) -> Iterator[None]:
    registry.register(entry)
    try:
        yield
    finally:
        del registry[entry.name]


def run(*words: object, text: str = "") -> str:
    done = CliRunner().invoke(app, list(map(str, words)), input=text)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def offered(command: str, option: str) -> list[str]:
    """What the shell completes after an option."""
    (found,) = (one for one in cli_docs.commands()[command].params if one.name == option)
    return [item.value for item in found.type.shell_complete(None, found, "")]


def shown_help(command: str) -> str:
    return " ".join(run(command, "--help").split())


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(LINES, encoding="utf-8")
    return path


# ---------------------------------------------------------------------------------------- criterion


def third(evidence: Evidence) -> Score:
    sizes = evidence.candidates.curve.size
    return Score("third", sizes, np.arange(len(sizes), dtype=float), 2)


@pytest.fixture
def criterion() -> Iterator[Criterion]:
    toy = Criterion("third", "the third size of all", True, third)
    with registered(CRITERIA, toy):
        yield toy


def test_a_criterion(criterion, text, tmp_path):
    assert "third" in offered("learn", "criterion")
    assert "third" in offered("refit", "criterion")
    assert "third" in offered("search", "by")
    assert "or third." in shown_help("learn")
    assert "| `third` | the third size of all |\n" in registry_docs.criteria()
    assert "or third." in cli_docs.table(cli_docs.commands()["learn"])
    run("learn", text, "--criterion", "third", "-o", tmp_path / "out", "--no-report")
    choices = json.loads((tmp_path / "out" / "choices.json").read_text(encoding="utf-8"))
    sizes = volt.candidates([text]).curve.size
    assert (choices["criterion"], choices["size"]) == ("third", sizes[2])
    (verdict,) = (one for one in choices["choices"] if one["criterion"] == "third")
    assert (verdict["size"], verdict["meaning"]) == (sizes[2], "the third size of all")


def test_a_criterion_that_is_gone_is_refused(text):
    with pytest.raises(SettingsError, match=r"--criterion must be one of .*, not 'third'"):
        run("learn", text, "--criterion", "third", "-o", "unused")


# ------------------------------------------------------------------------------------------- source


def propose(proposal: Proposal) -> volt.Candidates:
    """Whole words, the most frequent first."""
    counts = proposal.counts
    order = np.argsort(-counts.counts.astype(np.int64), kind="stable")
    words = [counts.words[word] for word in order.tolist()][: proposal.number]
    return piece_candidates(proposal, lambda spelled: [word for word in words if len(word) > 1])


@pytest.fixture
def source() -> Iterator[Source]:
    toy = Source("words", "whole words", "The most frequent words.", ("unigram",), propose, 3)
    with registered(SOURCES, toy):
        yield toy


def test_a_source(source, text, tmp_path):
    assert "words:" in offered("learn", "candidates")
    assert "or words:N." in shown_help("learn")
    row = "| `words:N` | The most frequent words. | 3 | `unigram` |\n"
    assert row in registry_docs.sources()
    assert "or words:N." in cli_docs.table(cli_docs.commands()["candidates"])
    run("learn", text, "--candidates", "words", "--sizes", "269,270,271", "-o", tmp_path / "out")
    tokens = volt.load(tmp_path / "out").vocabulary.of_kind("piece")
    assert 0 < len(tokens) <= 3
    assert {*tokens} <= {"▁low", "▁lower", "▁slow", "▁slowest", "▁lowest"}
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["source"] == {"name": "whole words", "exact": False}
    assert "cand:words-3|" in report["signature"]


# ------------------------------------------------------------------------------------------- format


def write(vocabulary: Vocabulary, path: Path) -> dict[Path, bytes]:
    return {path: " ".join(vocabulary.texts).encode()}


@pytest.fixture
def line() -> Iterator[Format]:
    toy = Format(
        "line", "the toy", "All tokens on a line.", "a line", write, read=lambda path: None,
        takes=lambda mode: mode.space_before, example=("line.txt", "cat line.txt"),
    )  # fmt: skip
    with registered(FORMATS, toy):
        yield toy


def test_a_format(line, text, tmp_path):
    assert "line" in offered("export", "to")
    assert "or line." in shown_help("export")
    assert "| `line` | All tokens on a line. | a line | `metaspace` |" in registry_docs.formats()
    assert "or line." in cli_docs.table(cli_docs.commands()["export"])
    result = volt.learn([text], size=268)
    result.save(tmp_path / "out", report=False)
    run("export", "-m", tmp_path / "out", "--to", "line", "-o", tmp_path / "line.txt")
    assert (tmp_path / "line.txt").read_text(encoding="utf-8").split() == result.vocabulary.texts
    use = {"name": "the toy", "command": "volt export -m . --to line -o line.txt",
           "then": "cat line.txt", "refused": ""}  # fmt: skip
    assert use in uses(result.vocabulary)
    other = volt.learn([text], size=20, pretokenizer="whitespace").vocabulary
    (use,) = (use for use in uses(other) if use["name"] == "the toy")
    assert use["refused"] == (
        "the toy knows text cut by the pre-tokenizer metaspace, not by whitespace; learn with "
        "--pretokenizer metaspace; export to hf works"
    )
    with pytest.raises(SettingsError, match="cut by the pre-tokenizer metaspace"):
        volt.export(other, "line", tmp_path / "other.txt")


# ------------------------------------------------------------------------------------ pre-tokenizer


@pytest.mark.parametrize("native", ["whitespace", "byte-level:llama3"])
def test_a_pretokenizer(native, text, tmp_path):
    """It has a name of its own for what the native code does already."""
    toy = replace(PRETOKENIZERS[native], name="toy", description="As in the toy.")
    expected = volt.learn([text], pretokenizer=native, merges=5, criterion="knee")
    with registered(PRETOKENIZERS, toy):
        assert "toy" in offered("learn", "pretokenizer")
        assert "toy" in offered("count", "pretokenizer")
        assert "toy or custom:REGEX." in shown_help("learn")
        assert "| `toy` | As in the toy. |" in registry_docs.pretokenizers()
        assert "toy or custom:REGEX." in cli_docs.table(cli_docs.commands()["count"])
        run("learn", text, "--pretokenizer", "toy", "--merges", 5, "--criterion", "knee",
            "-o", tmp_path / "out")  # fmt: skip
        found = volt.load(tmp_path / "out")
        assert found.vocabulary.rule == WordRule("toy")
        assert found.vocabulary.texts == expected.vocabulary.texts
        assert found.encode(LINES) == expected.tokenizer.encode(LINES)
        report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
        assert "|pre:toy|" in report["signature"]
        same = collect(expected)
        assert report["corpus"] == same["corpus"]
        assert report["curve"] == same["curve"]


# --------------------------------------------------------------------------------------- normalizer


@dataclass(frozen=True)
class Shout(NormalizerStep):
    name = "shout"
    description = "`Uppercase`, which is not there"

    mark: str

    def __call__(self, text: str) -> str:
        return text.upper() + self.mark


def test_a_step_of_normalizers(tmp_path):
    tokens = [Token("<unk>", "special"), *(Token(c, "character") for c in ("!</w>", "A", "B"))]
    vocabulary = Vocabulary(
        WordRule("whitespace"), tokens, unknown="unk",
        normalizer=Normalizer((Shout("!"), Cut("words"))),
    )  # fmt: skip
    with registered(NORMALIZERS, Shout):
        assert "| `shout` | `Uppercase`, which is not there |\n" in registry_docs.normalizer_steps()
        (tmp_path / "m").mkdir()
        vocabulary.save(tmp_path / "m" / "volt.json")
        found = volt.load(tmp_path / "m")
        assert found.vocabulary.normalizer == vocabulary.normalizer
        assert [found.tokens[token] for token in found.encode("ab")] == ["A", "<unk>", "!</w>"]
        assert "shout + cut (words)" in run("info", tmp_path / "m")
        with pytest.raises(SettingsError, match="no normalizer for the step shout"):
            volt.export(found.vocabulary, "hf", tmp_path / "hf")
