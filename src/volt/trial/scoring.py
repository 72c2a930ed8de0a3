"""BLEU and chrF as sacrebleu computes them, on plain (detokenized) text, with its signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from volt.base.errors import SettingsError
from volt.base.extras import need

BOOTSTRAP_SAMPLES = 1000


@dataclass(frozen=True)
class Scores:
    bleu: float
    bleu_95: float
    """Half the width of its 95% interval over resampled sentences, as sacrebleu draws it."""
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
        # Some tokenizers need a package or a file from the network: better known before training.
        try:
            self._metrics()["BLEU"].corpus_score(self.references[0], None)
        except (RuntimeError, ImportError, OSError, SystemExit) as error:
            raise SettingsError(
                f"sacrebleu's tokenizer {tokenize!r} does not work: {error}"
            ) from error

    def _metrics(self) -> dict[str, Any]:
        return {
            "BLEU": self._sacrebleu.BLEU(tokenize=self._tokenize, references=self.references),
            "chrF": self._sacrebleu.CHRF(references=self.references),
        }

    def score(self, translations: Sequence[str]) -> Scores:
        metrics = self._metrics()
        lines = list(translations)
        bleu = metrics["BLEU"].corpus_score(lines, None, n_bootstrap=BOOTSTRAP_SAMPLES)
        chrf = metrics["chrF"].corpus_score(lines, None)
        return Scores(float(bleu.score), float(bleu._ci), float(chrf.score))

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
