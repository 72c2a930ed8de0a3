"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from typing import TYPE_CHECKING, Any

from volt._version import __version__
from volt.base.errors import InputError, SettingsError, TransportError, VoltError
from volt.counting.counts import CountTotals, WordCounts, WordRule, count
from volt.pipeline import LearnResult, learn
from volt.proposing.merges import Candidates, Curve, candidates, load_candidates
from volt.proposing.sources import candidates_from
from volt.searching import SearchResult, search
from volt.settings import LearnSettings
from volt.tokenizing.tokenizer import Tokenizer, load
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

if TYPE_CHECKING:
    from volt import formats
    from volt.adapting.extend import extend
    from volt.adapting.join import Joined, join
    from volt.adapting.refit import RefitResult, refit
    from volt.comparison import Comparison, compare
    from volt.counting.spill import CountedFile, count_to_file
    from volt.formats import ExportResult, export, import_vocabulary
    from volt.languages.learning import learn_languages
    from volt.languages.scripts import learn_scripts

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
    "Joined": "adapting.join",
    "RefitResult": "adapting.refit",
    "extend": "adapting.extend",
    "join": "adapting.join",
    "learn_languages": "languages.learning",
    "learn_scripts": "languages.scripts",
    "CountedFile": "counting.spill",
    "count_to_file": "counting.spill",
    "refit": "adapting.refit",
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
