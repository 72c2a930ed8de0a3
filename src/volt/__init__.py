"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from typing import TYPE_CHECKING, Any

from volt._version import __version__
from volt.candidates import Candidates, Curve, candidates, load_candidates
from volt.counts import CountTotals, WordCounts, WordRule, count
from volt.errors import InputError, SettingsError, TransportError, VoltError
from volt.learn import LearnResult, LearnSettings, learn
from volt.search import SearchResult, search
from volt.sources import candidates_from
from volt.tokenizer import Tokenizer, load
from volt.vocabulary import Vocabulary
from volt.vocabulary_reader import load_vocabulary

if TYPE_CHECKING:
    from volt import formats
    from volt.comparison import Comparison, compare
    from volt.extending import extend
    from volt.formats import ExportResult, export, import_vocabulary
    from volt.joining import Joined, join
    from volt.languages import learn_languages
    from volt.refitting import RefitResult, refit
    from volt.scripts import learn_scripts
    from volt.spill import CountedFile, count_to_file

__all__ = [
    "Candidates",
    "Comparison",
    "CountTotals",
    "CountedFile",
    "Curve",
    "ExportResult",
    "InputError",
    "Joined",
    "LearnResult",
    "LearnSettings",
    "RefitResult",
    "SearchResult",
    "SettingsError",
    "Tokenizer",
    "TransportError",
    "Vocabulary",
    "VoltError",
    "WordCounts",
    "WordRule",
    "__version__",
    "candidates",
    "candidates_from",
    "compare",
    "count",
    "count_to_file",
    "export",
    "extend",
    "formats",
    "import_vocabulary",
    "join",
    "learn",
    "learn_languages",
    "learn_scripts",
    "load",
    "load_candidates",
    "load_vocabulary",
    "refit",
    "search",
]


LATE = {
    "Joined": "joining",
    "RefitResult": "refitting",
    "extend": "extending",
    "join": "joining",
    "learn_languages": "languages",
    "learn_scripts": "scripts",
    "CountedFile": "spill",
    "count_to_file": "spill",
    "refit": "refitting",
}


def __getattr__(name: str) -> Any:
    """The formats are imported when they are asked for: most runs need none of them."""
    if name in ("Comparison", "compare"):
        from volt import comparison

        return getattr(comparison, name)
    if name in LATE:
        import importlib

        return getattr(importlib.import_module(f"volt.{LATE[name]}"), name)
    if name in ("ExportResult", "export", "formats", "import_vocabulary"):
        import importlib

        formats = importlib.import_module("volt.formats")
        return formats if name == "formats" else getattr(formats, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
