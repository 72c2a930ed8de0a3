"""The criteria, one file each. None trains anything."""

from volt.base.registry import Registry, members
from volt.choosing.criteria.base import Criterion, Evidence, Score

FIRST = ("auto", "heldout", "muv", "mdl", "frequency", "renyi", "zipf", "knee")
"""The order in which they are shown; those of other files in this folder follow."""
CRITERIA: Registry[Criterion] = Registry("criterion", members(__name__, "CRITERION", FIRST))

__all__ = ["CRITERIA", "Criterion", "Evidence", "Score"]
