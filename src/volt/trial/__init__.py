"""Trial training: one translation model per vocabulary, and what BLEU says.

data -> vocabularies -> models -> training -> translation -> scoring -> results (-> page).
Everything here needs the extra `trial`; import it through `volt.trial.trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volt.base.extras import need

if TYPE_CHECKING:
    from volt.trial.run import trial

__all__ = ["trial"]


def __getattr__(name: str) -> Any:
    """Import `trial` when it is asked for, and say so if a library is missing."""
    if name != "trial":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for module in ("torch", "transformers", "sacrebleu"):
        need(module, "trial")
    from volt.trial.run import trial

    return trial
