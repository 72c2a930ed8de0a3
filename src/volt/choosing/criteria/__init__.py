"""The criteria, one file each, in the order in which they are shown. None trains anything."""

from volt.base.registry import Registry
from volt.choosing.criteria import auto, frequency, heldout, knee, mdl, muv, renyi, zipf
from volt.choosing.criteria.base import Criterion, Evidence, Score

CRITERIA: Registry[Criterion] = Registry(
    "criterion",
    [module.CRITERION for module in (auto, heldout, muv, mdl, frequency, renyi, zipf, knee)],
)

__all__ = ["CRITERIA", "Criterion", "Evidence", "Score"]
