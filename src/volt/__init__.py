"""volt: the right subword vocabulary, its size included, in seconds and without trial training."""

from volt._version import __version__
from volt.candidates import Candidates, Curve, candidates, load_candidates
from volt.counts import CountTotals, WordCounts, WordRule, count
from volt.errors import InputError, SettingsError, TransportError, VoltError

__all__ = [
    "Candidates",
    "CountTotals",
    "Curve",
    "InputError",
    "SettingsError",
    "TransportError",
    "VoltError",
    "WordCounts",
    "WordRule",
    "__version__",
    "candidates",
    "count",
    "load_candidates",
]
