"""Trial training: one translation model a vocabulary, and what BLEU says.

data -> vocabularies -> models -> training -> translation -> scoring -> results (-> page).
Everything here needs the extra `trial`; import it through `volt.trial.trial`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from volt.base.extras import need

if TYPE_CHECKING:
    from volt.trial.results import TrialResults


def trial(source: str, target: str, **options: Any) -> TrialResults:
    """Train and score a model for every vocabulary; see `volt.trial.run.trial` for the options."""
    for module in ("torch", "transformers", "sacrebleu"):
        need(module, "trial")
    from volt.trial.run import trial as run

    return run(source, target, **options)


__all__ = ["trial"]
