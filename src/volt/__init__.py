"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from volt._version import __version__

if TYPE_CHECKING:
    from volt import formats
    from volt.adapting.extend import extend
    from volt.adapting.join import Joined, join
    from volt.adapting.refit import RefitResult, refit
    from volt.base.errors import InputError, SettingsError, TransportError, VoltError, VoltWarning
    from volt.comparison import Comparison, compare
    from volt.counting.count import count
    from volt.counting.counts import CountTotals, WordCounts
    from volt.counting.objects import Files, Texts
    from volt.counting.shards import count_partition, merge_counts
    from volt.counting.spill import CountedFile, count_to_file
    from volt.counting.words import WordRule
    from volt.formats import ExportResult, export, import_vocabulary
    from volt.ladder import Ladder
    from volt.languages.learning import learn_languages
    from volt.languages.scripts import learn_scripts
    from volt.pipeline import candidates, learn
    from volt.proposing.base import Candidates
    from volt.proposing.candidates_file import load_candidates
    from volt.proposing.curve import Curve
    from volt.result import LearnResult
    from volt.searching import SearchResult, search
    from volt.settings import CountSettings, LearnSettings
    from volt.tokenizing.loading import load
    from volt.tokenizing.tokenizer import Tokenizer
    from volt.tokenizing.training_files import encode_to_files
    from volt.tokenizing.vocabulary import Vocabulary
    from volt.tokenizing.volt_json import load_vocabulary
    from volt.verification import Verification, verify

__all__ = [
    "Candidates",
    "Comparison",
    "CountSettings",
    "CountTotals",
    "CountedFile",
    "Curve",
    "ExportResult",
    "Files",
    "InputError",
    "Joined",
    "Ladder",
    "LearnResult",
    "LearnSettings",
    "RefitResult",
    "SearchResult",
    "SettingsError",
    "Texts",
    "Tokenizer",
    "TransportError",
    "Verification",
    "Vocabulary",
    "VoltError",
    "VoltWarning",
    "WordCounts",
    "WordRule",
    "__version__",
    "candidates",
    "compare",
    "count",
    "count_partition",
    "count_to_file",
    "encode_to_files",
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
    "merge_counts",
    "refit",
    "search",
    "verify",
]

_HOMES = {
    "adapting.extend": ("extend",),
    "adapting.join": ("Joined", "join"),
    "adapting.refit": ("RefitResult", "refit"),
    "base.errors": ("InputError", "SettingsError", "TransportError", "VoltError", "VoltWarning"),
    "comparison": ("Comparison", "compare"),
    "counting.count": ("count",),
    "counting.counts": ("CountTotals", "WordCounts"),
    "counting.objects": ("Files", "Texts"),
    "counting.shards": ("count_partition", "merge_counts"),
    "counting.spill": ("CountedFile", "count_to_file"),
    "counting.words": ("WordRule",),
    "formats": ("ExportResult", "export", "import_vocabulary"),
    "ladder": ("Ladder",),
    "languages.learning": ("learn_languages",),
    "languages.scripts": ("learn_scripts",),
    "pipeline": ("candidates", "learn"),
    "proposing.base": ("Candidates",),
    "proposing.candidates_file": ("load_candidates",),
    "proposing.curve": ("Curve",),
    "result": ("LearnResult",),
    "searching": ("SearchResult", "search"),
    "settings": ("CountSettings", "LearnSettings"),
    "tokenizing.loading": ("load",),
    "tokenizing.tokenizer": ("Tokenizer",),
    "tokenizing.training_files": ("encode_to_files",),
    "tokenizing.vocabulary": ("Vocabulary",),
    "tokenizing.volt_json": ("load_vocabulary",),
    "verification": ("Verification", "verify"),
}
"""Where each public name lives. A module is imported when one of its names is asked for."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def _refuse_subinterpreter() -> None:
    """An error where the native code of volt and NumPy would hang."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        try:
            interpreters = import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "volt does not run in a subinterpreter of Python: import it in the main "
                "interpreter, or in a process of its own"
            )
        return


_refuse_subinterpreter()


def __getattr__(name: str) -> Any:
    if name == "formats":
        return import_module("volt.formats")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"volt.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
