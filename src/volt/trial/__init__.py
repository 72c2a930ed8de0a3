"""Trial training: one model per vocabulary, and what it says about them.

data -> vocabularies -> models -> training -> (translation) -> scoring -> results (-> page).
Everything here needs the extra `trial`; import it through `volt.trial.trial`, which trains
translation models, or `volt.trial.lm_trial`, which trains language models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volt.base.extras import need

if TYPE_CHECKING:
    from volt.trial.run import lm_trial, trial

__all__ = ["lm_trial", "trial"]


def __getattr__(name: str) -> Any:
    """Import a trial when it is asked for, and say so if a library is missing."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("torch", "transformers", "sacrebleu"):
        need(module, "trial")
    from volt.trial import run

    return getattr(run, name)
