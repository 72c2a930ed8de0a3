"""BLEU and chrF as sacrebleu computes them, on plain (detokenized) text, with its signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from volt.errors import SettingsError
from volt.extras import need

BOOTSTRAP_SAMPLES = 1000


@dataclass(frozen=True)
class Scores:
    bleu: float
    chrf: float


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

    def _metrics(self) -> dict[str, Any]:
        return {
            "BLEU": self._sacrebleu.BLEU(tokenize=self._tokenize, references=self.references),
            "chrF": self._sacrebleu.CHRF(references=self.references),
        }

    def score(self, translations: Sequence[str]) -> Scores:
        bleu, chrf = (
            one.corpus_score(list(translations), None) for one in self._metrics().values()
        )
        return Scores(bleu.score, chrf.score)

    def interval(self, translations: Sequence[str]) -> float:
        """Half the width of BLEU's 95% interval over resampled sentences, as sacrebleu draws it."""
        metric = self._metrics()["BLEU"]
        found = metric.corpus_score(list(translations), None, n_bootstrap=BOOTSTRAP_SAMPLES)
        return float(found._ci)

    def signatures(self, translations: Sequence[str]) -> dict[str, str]:
        """What makes the figures repeatable."""
        found = {}
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
