"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from volt._version import __version__
from volt.candidates import Candidates, Curve, candidates, load_candidates
from volt.counts import CountTotals, WordCounts, WordRule, count
from volt.errors import InputError, SettingsError, TransportError, VoltError
from volt.formats import ExportResult, export, import_vocabulary
from volt.learn import LearnResult, LearnSettings, learn
from volt.search import SearchResult, search
from volt.tokenizer import Tokenizer, load
from volt.vocabulary import Vocabulary, load_vocabulary

__all__ = [
    "Candidates",
    "CountTotals",
    "Curve",
    "ExportResult",
    "InputError",
    "LearnResult",
    "LearnSettings",
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
    "count",
    "export",
    "import_vocabulary",
    "learn",
    "load",
    "load_candidates",
    "load_vocabulary",
    "search",
]
