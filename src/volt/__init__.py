"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from volt._version import __version__ as __version__

if TYPE_CHECKING:
    from volt import formats as formats
    from volt.adapting.extend import extend as extend
    from volt.adapting.join import Joined as Joined
    from volt.adapting.join import join as join
    from volt.adapting.refit import refit as refit
    from volt.adapting.subject import RefitResult as RefitResult
    from volt.base.errors import InputError as InputError
    from volt.base.errors import SettingsError as SettingsError
    from volt.base.errors import TransportError as TransportError
    from volt.base.errors import VoltError as VoltError
    from volt.base.errors import VoltWarning as VoltWarning
    from volt.comparison import Comparison as Comparison
    from volt.comparison import compare as compare
    from volt.counting.count import count as count
    from volt.counting.counts import CountTotals as CountTotals
    from volt.counting.counts import WordCounts as WordCounts
    from volt.counting.objects import Files as Files
    from volt.counting.objects import Texts as Texts
    from volt.counting.shards import count_partition as count_partition
    from volt.counting.shards import merge_counts as merge_counts
    from volt.counting.spill import CountedFile as CountedFile
    from volt.counting.spill import count_to_file as count_to_file
    from volt.counting.words import WordRule as WordRule
    from volt.formats import ExportResult as ExportResult
    from volt.formats import export as export
    from volt.formats import import_vocabulary as import_vocabulary
    from volt.ladder import Ladder as Ladder
    from volt.languages.learning import learn_languages as learn_languages
    from volt.languages.scripts import learn_scripts as learn_scripts
    from volt.pipeline import candidates as candidates
    from volt.pipeline import learn as learn
    from volt.proposing.base import Candidates as Candidates
    from volt.proposing.candidates_file import load_candidates as load_candidates
    from volt.proposing.curve import Curve as Curve
    from volt.result import LearnResult as LearnResult
    from volt.searching import SearchResult as SearchResult
    from volt.searching import search as search
    from volt.settings import CountSettings as CountSettings
    from volt.settings import LearnSettings as LearnSettings
    from volt.tokenizing.loading import load as load
    from volt.tokenizing.tokenizer import Tokenizer as Tokenizer
    from volt.tokenizing.training_files import encode_to_files as encode_to_files
    from volt.tokenizing.vocabulary import Vocabulary as Vocabulary
    from volt.tokenizing.volt_json import load_vocabulary as load_vocabulary
    from volt.verification import Verification as Verification
    from volt.verification import verify as verify

_HOMES = {
    "adapting.extend": ("extend",),
    "adapting.join": ("Joined", "join"),
    "adapting.refit": ("refit",),
    "adapting.subject": ("RefitResult",),
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
__all__ = sorted([*_HOME_OF, "__version__", "formats"])


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
