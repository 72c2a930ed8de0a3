"""How sure a figure is: intervals and tests of bits per byte; BLEU and chrF by sacrebleu.

sacrebleu scores plain (detokenized) text; its signatures say how.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import SettingsError
from volt.base.extras import need
from volt.trial.results import RunResult

BOOTSTRAP_SAMPLES = 1000


def _plain_score(compute: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*given: Any) -> Any:
        found = compute(*given)
        found.score = float(found.score)
        return found

    return computed


def half_interval(bits: NDArray[np.float64], lengths: NDArray[np.int64]) -> float:
    """Half the 95% interval of bits per byte over test lines, by the delta method: the ratio's
    error is that of the mean of `bits - ratio * bytes`."""
    ratio = bits.sum() / lengths.sum()
    if len(bits) < 2:
        return 0.0
    spread = float(np.std(bits - ratio * lengths, ddof=1))
    return 1.96 * spread * math.sqrt(len(bits)) / float(lengths.sum())


def paired_p(differences: NDArray[np.float64]) -> float:
    """How likely a mean difference as large is by chance: normal, two-sided, line by line."""
    spread = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    if not spread:
        return 1.0
    z = abs(float(differences.mean())) * math.sqrt(len(differences)) / spread
    return math.erfc(z / math.sqrt(2))


class Scorer:
    """Scores translations of one test text."""

    def __init__(self, references: Sequence[str], tokenize: str = "13a") -> None:
        sacrebleu = need("sacrebleu", "trial")
        if tokenize not in sacrebleu.BLEU.TOKENIZERS:
            raise SettingsError(
                f"sacrebleu has no tokenizer {tokenize!r}; it has "
                + ", ".join(sorted(sacrebleu.BLEU.TOKENIZERS))
            )
        self.references = [list(references)]
        self._tokenize = tokenize
        self._sacrebleu = sacrebleu
        # Some tokenizers need a package or a file from the network: better known before training.
        try:
            self._metrics()["BLEU"].corpus_score(self.references[0], None)
        except (RuntimeError, ImportError, OSError, SystemExit) as error:
            raise SettingsError(
                f"sacrebleu's tokenizer {tokenize!r} does not work: {error}"
            ) from error

    def _metrics(self) -> dict[str, Any]:
        found = {
            "BLEU": self._sacrebleu.BLEU(tokenize=self._tokenize, references=self.references),
            "chrF": self._sacrebleu.CHRF(references=self.references),
        }
        # Of resamples, some with a score of zero, sacrebleu would add two kinds of float: an error.
        for metric in found.values():
            metric._compute_score_from_stats = _plain_score(metric._compute_score_from_stats)
        return found

    def scored(self, result: RunResult, translations: Sequence[str]) -> RunResult:
        """The result with BLEU and chrF, each with half its 95% interval over resampled sentences,
        as sacrebleu draws it."""
        found: dict[str, Any] = {}
        for name, metric in self._metrics().items():
            score = metric.corpus_score(list(translations), None, n_bootstrap=BOOTSTRAP_SAMPLES)
            found[name.lower()] = float(score.score)
            found[f"{name.lower()}_95"] = float(score._ci)
        return replace(result, **found)

    def signatures(self, translations: Sequence[str]) -> dict[str, str]:
        """What makes the figures repeatable."""
        found: dict[str, Any] = {}
        for name, metric in self._metrics().items():
            metric.corpus_score(list(translations), None)
            found[name] = str(metric.get_signature())
        return found

    def p_values(self, systems: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """Paired bootstrap: how likely a BLEU difference to the first system as large as the one
        seen is by chance."""
        significance = need("sacrebleu.significance", "trial")
        if len(systems) < 2:
            return {}
        named = [(name, list(lines)) for name, lines in systems.items()]
        metrics = {"BLEU": self._sacrebleu.BLEU(
            tokenize=self._tokenize, references=self.references
        )}  # fmt: skip
        test = significance.PairedTest(
            named, metrics, None, test_type="bs", n_samples=BOOTSTRAP_SAMPLES
        )
        _, found = test()
        return {
            name: float(result.p_value)
            for (name, _), result in zip(named, found["BLEU"], strict=True)
            if result.p_value is not None
        }
