"""The pipeline: text -> counts -> candidates -> transport at each size -> choice -> vocabulary."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from volt._version import __version__
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_folder
from volt.base.progress import Progress, Report
from volt.choosing.choice import Choice, choose
from volt.choosing.criteria import CRITERIA, ZIPF_SIZES, Score, curve_scores, muv
from volt.choosing.entropy import Length, entropy_per_length
from volt.choosing.sizes import parse_sizes
from volt.choosing.transport import (
    TransportProblem,
    TransportSolution,
    solve,
)
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.proposing.frequencies import (
    Frequencies,
    SizeFrequencies,
    frequencies_at,
    rank_candidates,
    token_characters,
    token_set,
)
from volt.proposing.merges import WORD_FINAL, Candidates, Curve
from volt.proposing.pieces import PieceCandidates, build_piece_vocabulary
from volt.proposing.sources import (
    Source,
    SourceKind,
    candidates_from,
)
from volt.settings import CountSettings, LearnSettings
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.tokens import SPELLED, packed
from volt.tokenizing.vocabulary import MergeEncoding, Vocabulary, build_vocabulary, closure

if TYPE_CHECKING:
    from volt.languages.learning import LanguageTable

BILINGUAL_SIZES = "1000:10000:1000"
MULTILINGUAL_SIZES = "40000:160000:10000"
CURVE_ROWS = 1000
DRAW_ROWS = 2000

CURVE_NAMES: dict[SourceKind, str] = {
    "bpe": "BPE",
    "wordpiece": "WordPiece",
    "unigram": "Unigram candidates",
    "substring": "substrings",
    "file": "the file's tokens",
}


@dataclass(frozen=True, eq=False)
class Step:
    """One size of S: its transport problem, solved, and what follows."""

    size: int
    """S_t: merged tokens that may be used, beside the alphabet."""
    tokens: NDArray[np.int64] = field(repr=False)
    """Candidates in use at this size, by id, the alphabet's among them: the rows of the plan."""
    solution: TransportSolution = field(repr=False)
    enough: NDArray[np.bool_] = field(repr=False)
    """Which of them get enough mass to be kept."""
    entropy: float
    """H_t by Eq. 2 over the kept tokens."""
    muv: float | None = None
    """M_t by Eq. 1; the first size has none."""

    @property
    def kept(self) -> NDArray[np.int64]:
        """The vocabulary of this step."""
        return self.tokens[self.enough]

    @property
    def dropped(self) -> int:
        """Tokens in use that the threshold dropped."""
        return int((~self.enough).sum())


@dataclass(frozen=True, eq=False)
class LearnResult:
    """Everything `learn` found."""

    tokenizer: Tokenizer
    """With the vocabulary, ready to encode."""
    counts: WordCounts = field(repr=False)
    candidates: Candidates = field(repr=False)
    steps: list[Step] = field(repr=False)
    choices: list[Choice]
    """One for each criterion."""
    criterion: str
    """The one that decided, or `size` where the size was fixed."""
    chosen_size: int
    """What the criterion chose: S_t for `muv`, the BPE size otherwise."""
    closure_size: int
    """Learned tokens with all they are made from: characters, chosen tokens, scaffolds."""
    overlap: float | None
    """Share of the chosen merged tokens that BPE with as many merges has too."""
    messages: list[str]
    """What the user should know: sizes left out, files that do not match, words of doubt."""
    length: Length = "types"
    """The mean length in H of the steps."""
    languages: LanguageTable | None = None
    """What the vocabulary is to each language, if they were named."""
    source: SourceKind = "bpe"
    """Where the candidates come from."""

    @property
    def vocabulary(self) -> Vocabulary:
        return self.tokenizer.vocabulary

    @property
    def curve(self) -> Curve:
        """BPE at every size, other candidates at those that were measured; `curve.to_frame()` with
        pandas."""
        return self.candidates.curve

    @property
    def curve_name(self) -> str:
        """What the curve is of."""
        return CURVE_NAMES[self.source]

    @property
    def exact(self) -> bool:
        """Is every size on the curve, or only some that were measured?"""
        return not isinstance(self.candidates, PieceCandidates)

    @property
    def solutions(self) -> list[TransportSolution]:
        return [step.solution for step in self.steps]

    @cached_property
    def choice(self) -> Choice | None:
        return next((one for one in self.choices if one.criterion == self.criterion), None)

    @property
    def signature(self) -> str:
        return self.vocabulary.signature

    def summary(self) -> dict[str, Any]:
        """What choices.json holds: plain data, the same for the same text."""
        return {
            "signature": self.signature,
            "source": self.source,
            "criterion": self.criterion,
            "chosen_size": self.chosen_size,
            "vocabulary_size": len(self.vocabulary),
            "closure_size": self.closure_size,
            "scaffolds": self.vocabulary.scaffolds,
            "hidden": len(self.vocabulary.hidden),
            "unreachable": len(self.vocabulary.unreachable),
            "overlap_with_bpe": self.overlap,
            "choices": [asdict(choice) for choice in self.choices],
            "steps": [_step_summary(step) for step in self.steps],
            "messages": self.messages,
            **({} if self.languages is None else {"languages": self.languages.summary()}),
        }

    def _repr_html_(self) -> str:
        """In a notebook: the choice, the criteria, the curve."""
        from volt.report.notebook import result_html

        return result_html(self)

    def save(
        self, folder: str | os.PathLike[str], *, force: bool = False, report: bool = True
    ) -> None:
        """Write the result's folder, whole or not at all; an existing one only with `force`.

        `report` adds report.json and, if the extra `report` is installed, report.html.
        """
        with atomic_folder(folder, force=force) as temporary:
            self.vocabulary.save(temporary / "volt.json")
            rows = curve_rows(self.curve, self.choices, self.steps)
            self.curve.save(temporary / "curve.csv", rows)
            text = json.dumps(self.summary(), ensure_ascii=False, indent=2, allow_nan=False)
            (temporary / "choices.json").write_text(text + "\n", encoding="utf-8")
            (temporary / "signature.txt").write_text(self.signature + "\n", encoding="utf-8")
            if report:
                from volt.report import write_report

                write_report(self, temporary)


def curve_rows(curve: Curve, choices: Sequence[Choice], steps: Sequence[Step]) -> list[int]:
    """Rows of the curve for the file: about a thousand, evenly spaced on a logarithmic axis, and
    every size that was tried or chosen. `volt curve -o` writes all of them."""
    sizes = [choice.size for choice in choices if choice.size and choice.criterion != "muv"]
    rows = {*curve.spread(CURVE_ROWS).tolist(), *map(curve.at_size, sizes)}
    # S counts the tokens beside the alphabet, which is the first size.
    rows |= {curve.at_size(step.size + int(curve.size[0])) for step in steps}
    return sorted(rows)


def _step_summary(step: Step) -> dict[str, Any]:
    solution = step.solution
    return {
        "size": step.size,
        "tokens": int(solution.token_mass.size),
        "kept": len(step.kept),
        "dropped": step.dropped,
        "entropy": step.entropy,
        "muv": step.muv,
        "iterations": solution.iterations,
        "character_error": solution.character_error,
        "token_error": solution.token_error,
        "moved": solution.moved,
        "largest_change": solution.largest_change,
        "entropy_cost": solution.entropy_cost,
    }


def learn(
    inputs: WordCounts | Text | Iterable[Text],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LearnResult:
    """Learn a vocabulary, its size included.

    `options` are the fields of `LearnSettings` and, for text, the options of `volt.count`. A
    mapping of language codes to texts is for `volt.learn_languages`.
    """
    if isinstance(inputs, Mapping):
        from volt.languages.learning import learn_languages

        return learn_languages(inputs, threads=threads, progress=progress, **options)
    names = {one.name for one in fields(LearnSettings)}
    settings = LearnSettings(**{name: options.pop(name) for name in names & options.keys()})
    threads = thread_count(threads)
    progress = progress or Progress()
    messages: list[str] = []
    # SciPy takes as long to import as transport to solve: begin while the words are counted.
    with suppress(RuntimeError):  # no thread can be had: then later
        Thread(target=import_module, args=("scipy.sparse",), daemon=True).start()

    # 1. Text -> word counts.
    counts = _counted(inputs, options, threads, progress)

    # 2. Word counts -> candidates, with the resampled counts carried along.
    found, told = candidates_from(
        counts, settings.source, encoding=settings.encoded_by, coverage=settings.coverage,
        max_token_length=settings.max_token_length, min_frequency=settings.min_frequency,
        bootstrap=settings.bootstrap, seed=settings.seed, threads=threads, progress=progress,
    )  # fmt: skip
    messages += told

    # 3. Frequencies at each size of S, of the corpus and of every draw; transport; entropy.
    sizes = _sizes(settings, found.merges, messages)
    ranking = rank_candidates(found, settings.rank or "frequency")
    draws = [found.draw(number) for number in range(found.draws)]
    frequencies = frequencies_at(found, ranking, sizes, draws)
    scores = curve_scores(found, settings.model_width)
    score_draw = draw_scores(found, scores, settings)
    with (
        ThreadPoolExecutor(threads) as pool,
        progress.stage("Transport", len(sizes), "sizes") as report,
    ):
        # The draws need nothing of transport: they are scored beside it, or, alone, after it.
        scoring = map(score_draw, draws) if threads == 1 else pool.map(score_draw, draws)
        steps = solve_steps(found, frequencies, settings, report)
        drawn = list(scoring)

    # 4. Every criterion, over the real counts and over each draw.
    choices = choose_all(found, frequencies, steps, scores, drawn, settings)

    # 5. The choice, and the vocabulary that follows from it.
    chosen, chosen_size = _chosen_tokens(found, steps, choices, settings)
    vocabulary = _built(found, chosen, settings)

    # 6. Measure it: encode every word type with it.
    tokenizer = measure(vocabulary, counts, threads)
    signature = _signature(counts, vocabulary, sizes, chosen_size, settings)
    tokenizer = tokenizer.with_vocabulary(replace(tokenizer.vocabulary, signature=signature))

    decided = next((one for one in choices if one.criterion == settings.decides), None)
    messages += [f"{chosen_size:,}: {doubt}" for doubt in (decided.doubts if decided else ())]
    return LearnResult(
        tokenizer=tokenizer,
        counts=counts,
        candidates=found,
        steps=steps,
        choices=choices,
        criterion=settings.decides,
        chosen_size=chosen_size,
        closure_size=_closure_size(found, chosen),
        overlap=_overlap(found, chosen, settings),
        messages=messages,
        length=settings.length,
        source=settings.source.kind,
    )


# ------------------------------------------------------------------------------------------- stages


def _counted(
    inputs: WordCounts | Text | Iterable[Text],
    options: dict[str, Any],
    threads: int,
    progress: Progress,
) -> WordCounts:
    known = {one.name for one in fields(CountSettings)}
    if options.keys() - known:
        raise SettingsError(f"there is no option {', '.join(sorted(options.keys() - known))}")
    if isinstance(inputs, WordCounts):
        if options:
            raise SettingsError(f"the words are counted already: {', '.join(options)}")
        counts = inputs
    else:
        counts = count(inputs, threads=threads, progress=progress, **options)
    if len(counts) == 0 and counts.totals.pruned_words:
        raise InputError("--min-count leaves out every word of the input: lower it")
    if len(counts) == 0:
        raise InputError("there is not one word in the input: nothing to learn from")
    return counts


def _sizes(settings: LearnSettings, most: int, messages: list[str]) -> NDArray[np.int64]:
    """S: what was asked for, or the paper's, as far as there are candidates."""
    asked = settings.sizes
    if asked is None:
        asked = MULTILINGUAL_SIZES if settings.multilingual else BILINGUAL_SIZES
    sizes = parse_sizes(asked if isinstance(asked, str) else ",".join(map(str, asked)))
    if len(sizes) < 2:
        raise SettingsError(f"S is two or more sizes, not {asked!r}")
    fitting = [size for size in sizes if size <= most]
    if len(fitting) == len(sizes):
        return np.array(sizes)
    if len(fitting) < 3:
        # Too little text for S: the same shape, scaled down to the candidates there are.
        fitting = sorted({max(1, size * most // sizes[-1]) for size in sizes if size * most})
        if len(fitting) < 2:
            raise InputError(
                f"the text gives {most} candidates, too few for two sizes: give it more text"
            )
        messages.append(
            f"S of {sizes[0]:,} to {sizes[-1]:,} scaled down to {fitting[0]:,} to {fitting[-1]:,}: "
            f"the text gives {most:,} candidates"
        )
    else:
        messages.append(
            f"sizes above {fitting[-1]:,} left out of S: the text gives {most:,} candidates"
        )
    return np.array(fitting)


def draw_scores(
    found: Candidates, real: dict[str, Score], settings: LearnSettings
) -> Callable[[Candidates], dict[str, Score]]:
    """How a bootstrap draw scores by the criteria that read the curve: at DRAW_ROWS sizes, evenly
    spaced on a logarithmic axis, and at what the real counts chose."""
    chosen = [found.curve.at_size(score.size) for score in real.values() if score.size is not None]
    rows = np.union1d(found.curve.spread(DRAW_ROWS), chosen).astype(np.int64)
    ranked = found.curve.spread(ZIPF_SIZES)
    return lambda draw: curve_scores(draw, settings.model_width, rows=rows, zipf_rows=ranked)


def solve_steps(
    found: Candidates,
    frequencies: list[SizeFrequencies],
    settings: LearnSettings,
    report: Report = lambda done: None,
) -> list[Step]:
    """Solve the transport problem at every size, each starting from the one before."""
    used = np.unique(np.concatenate([at.tokens for at in frequencies]))
    spelled, characters = token_characters(found, used)
    lengths = found.lengths.astype(np.float64)
    steps: list[Step] = []
    start: NDArray[np.float64] | None = None
    for number, at in enumerate(frequencies, 1):
        problem = TransportProblem.from_tokens(
            lengths[at.tokens], at.frequency, spelled[np.searchsorted(used, at.tokens)],
            gamma=settings.gamma, epsilon=settings.epsilon,
            token_names=[found.tokens[t] for t in at.tokens.tolist()], character_names=characters,
        )  # fmt: skip
        solution = solve(problem, start=start)
        start = solution.character_potentials
        enough = solution.kept(settings.threshold)
        if not enough.any():
            raise SettingsError(
                f"threshold {settings.threshold:g} drops every token at size {at.size:,}: lower it"
            )
        kept = lengths[at.tokens[enough]]
        entropy = entropy_per_length(solution.token_mass[enough] / kept, kept, settings.length)
        utility = None
        if steps:
            utility = -(entropy - steps[-1].entropy) / (at.size - steps[-1].size)
        steps.append(Step(at.size, at.tokens, solution, enough, entropy, utility))
        report(number)
    return steps


def choose_all(
    found: Candidates,
    frequencies: list[SizeFrequencies],
    steps: list[Step],
    real: dict[str, Score],
    drawn: list[dict[str, Score]],
    settings: LearnSettings,
) -> list[Choice]:
    """Every criterion's choice with its interval."""
    sizes = np.array([step.size for step in steps])
    scores = {"muv": muv(sizes, np.array([step.entropy for step in steps])), **real}
    draws = {name: [one[name] for one in drawn] for name in real}
    entropies = np.array([
        _drawn_entropies(step, at.draws, found.lengths, settings)
        for step, at in zip(steps, frequencies, strict=True)
    ])  # fmt: skip
    draws["muv"] = [muv(sizes, column) for column in entropies.T]
    return [choose(scores[name], draws[name]) for name in CRITERIA]


def _drawn_entropies(
    step: Step, draws: Frequencies, lengths: NDArray[np.uint32], settings: LearnSettings
) -> list[float]:
    """H_t of every draw. A draw's tokens get the share of what they ask for that the real ones got:
    at epsilon = 0 that is all of it, and this is exact."""
    got = (step.solution.token_mass / step.solution.problem.token_marginal)[step.enough]
    weights = draws[step.enough] * got[:, None]
    kept = lengths[step.kept].astype(np.float64)
    return [entropy_per_length(column, kept, settings.length) for column in weights.T]


def _chosen_tokens(
    found: Candidates, steps: list[Step], choices: list[Choice], settings: LearnSettings
) -> tuple[NDArray[np.int64], int]:
    """The candidates of the final vocabulary, and the size that was chosen."""
    if settings.size is not None:
        return _tokens_for_size(found, settings.size, settings), settings.size
    choice = next(one for one in choices if one.criterion == settings.criterion)
    if choice.size is None:
        raise InputError(
            f"{settings.criterion} chooses no size on this text ({choice.doubts[0]}): "
            "use another criterion, or --size"
        )
    if settings.criterion == "muv":
        return next(step.kept for step in steps if step.size == choice.size), choice.size
    ranking = rank_candidates(found, settings.ranked_by)
    return ranking[: choice.size - found.alphabet_size], choice.size


def _built(found: Candidates, chosen: NDArray[np.int64], settings: LearnSettings) -> Vocabulary:
    names: dict[str, Any] = {
        "unknown": settings.unknown,
        "special": settings.special,
        "symbols": settings.symbols,
    }
    if isinstance(found, PieceCandidates):
        if settings.merge_rule is not None:
            raise SettingsError(
                f"--merge-rule is for tokens that are merged, not for --encoding {found.encoding}"
            )
        return build_piece_vocabulary(found, chosen, **names)
    encoding: MergeEncoding = "split" if settings.encoded_by == "split" else "merge"
    return build_vocabulary(
        found, chosen, encoding=encoding, merge_rule=settings.merge_rule, **names
    )


def _closure_size(found: Candidates, chosen: NDArray[np.int64]) -> int:
    inside = token_set(found, chosen, len(chosen))
    return int((inside if isinstance(found, PieceCandidates) else closure(found, inside)).sum())


def _overlap(found: Candidates, chosen: NDArray[np.int64], settings: LearnSettings) -> float | None:
    """Only where the candidates are those of BPE, in the order of its merges."""
    merged = chosen[chosen >= found.alphabet_size]
    if settings.source.kind != "bpe" or isinstance(found, PieceCandidates) or not len(merged):
        return None
    return float((merged < found.alphabet_size + len(merged)).mean())


def _tokens_for_size(found: Candidates, size: int, settings: LearnSettings) -> NDArray[np.int64]:
    """The best candidates such that the vocabulary has `size` tokens in all, or just below it
    where scaffolds come in twos."""
    spelled = found.rule.pretokenizer == "metaspace" and settings.unknown != "unk"
    fixed = len(settings.special) + len(settings.symbols) + (256 if spelled else 0)
    fixed += found.alphabet_size - (found.unknown is not None)
    room = size - fixed
    ranking = rank_candidates(found, settings.ranked_by)
    if room < 0:
        raise SettingsError(
            f"--size {size:,} has no room for the {fixed:,} special tokens, bytes and characters; "
            "ask for more, or lower --coverage"
        )
    if room > len(ranking):
        raise InputError(
            f"--size {size:,} needs {room:,} candidates; the text gives {len(ranking):,}, which "
            f"makes {fixed + len(ranking):,} tokens"
        )
    if settings.rank != "frequency" or settings.looked_up or settings.encoded_by == "split":
        return ranking[:room]

    def merged(count: int) -> int:
        inside = token_set(found, ranking, count)
        return int(closure(found, inside).sum()) - found.alphabet_size

    low, high = 0, room
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if merged(middle) <= room else (low, middle - 1)
    return ranking[:low]


def measure(vocabulary: Vocabulary, counts: WordCounts, threads: int) -> Tokenizer:
    """Frequencies, unreachable tokens and the self-test, all by encoding with the vocabulary."""
    tokenizer = Tokenizer(vocabulary, threads=threads)
    frequencies = np.zeros(len(vocabulary), np.int64)
    for part, weight in counts.parts or [(counts, 1)]:
        frequencies += tokenizer.usage(part)[0] * weight
    measured = replace(
        vocabulary.with_frequencies(frequencies),
        unreachable=find_unreachable(tokenizer),
        self_test=[(text, tokenizer.encode(text)) for text in self_test_texts(vocabulary)],
    )
    return tokenizer.with_vocabulary(measured)


def find_unreachable(tokenizer: Tokenizer) -> list[int]:
    """The tokens whose own text, as a word, is not encoded as that one token.

    A token that cannot end a word (`whitespace` mode) is followed by a character that is not in the
    vocabulary, with which nothing merges. One that cannot start a word (`##`) can follow any that
    can.
    """
    vocabulary = tokenizer.vocabulary
    rule, texts = vocabulary.rule, vocabulary.texts
    mark = vocabulary.look_up.mark if vocabulary.look_up is not None else ""
    known = {text.removesuffix(WORD_FINAL) for text in vocabulary.of_kind("character")}
    stranger = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in known).encode()
    numbers = [
        number for number in np.flatnonzero(vocabulary.columns.are(*SPELLED)).tolist()
        if not vocabulary.is_inner(texts[number])
    ]  # fmt: skip
    if rule.pretokenizer == "metaspace":
        words = [texts[number].encode() for number in numbers]
    else:
        words = [vocabulary.plain_text(texts[number]) for number in numbers]
    if rule.pretokenizer == "whitespace" and not mark:
        words = [
            word if texts[number].endswith(WORD_FINAL) else word + stranger
            for number, word in zip(numbers, words, strict=True)
        ]
    ids, ends = tokenizer.encode_words(
        WordCounts(rule, *packed(words), np.ones(len(words), np.uint64))
    )
    starts = ends[:-1].astype(np.int64)
    expected = np.array([1 + word.endswith(stranger) for word in words])
    single = np.diff(ends).astype(np.int64) == expected
    reached = single & (ids[np.minimum(starts, len(ids) - 1)] == np.array(numbers))
    return [number for number, fine in zip(numbers, reached.tolist(), strict=True) if not fine]


FIXED_TEXTS = (
    "",
    " ",
    "a",
    "Hello, world! 1234567890",
    "  two  spaces, a tab\there and trailing ",
    "naïve café, Übermäßigkeit, señor, fiancée",
    "пример текста, παράδειγμα, דוגמה, مثال, उदाहरण",
    "語彙は大切です。词汇很重要。 어휘는 중요합니다.",
    "e\u0301 and é, ﬁ, ①②③, ½, x²",
    "👩‍🚀🏳️‍🌈 \U0001f9ff \ue000",
    "don't they'll we've I'm 's",
    "▁literal▁mark </w> <unk> <s> @@ ##",
)


def self_test_texts(vocabulary: Vocabulary) -> list[str]:
    """A few dozen texts: fixed ones, and tokens of the vocabulary strung together. None is a
    sentence of the corpus."""

    def text_of(token: str) -> str:
        return vocabulary.plain_text(token).decode(errors="ignore")

    parts = vocabulary.of_kind(*SPELLED)
    if vocabulary.rule.mode.byte_level:
        parts = [token for token in parts if text_of(token).strip(" \t\r\n")]
    elif vocabulary.rule.pretokenizer == "metaspace":
        parts = [token for token in parts if token.strip("▁ \t\r\n")]
    strung = [
        "".join(text_of(parts[(start * 7919 + i * 104729) % len(parts)]) for i in range(5))
        for start in range(24)
    ] if parts else []  # fmt: skip
    return [*FIXED_TEXTS, *strung]


def _signature(
    counts: WordCounts,
    vocabulary: Vocabulary,
    sizes: NDArray[np.int64],
    chosen: int,
    settings: LearnSettings,
) -> str:
    """One line that tells how the vocabulary was made; equal lines, equal vocabularies."""
    steps = np.diff(sizes)
    listed = (
        f"{sizes[0]}:{sizes[-1]}:{steps[0]}"
        if (steps == steps[0]).all()
        else ",".join(map(str, sizes.tolist()))
    )
    rule = counts.rule
    ranked = "frequency" if settings.decides == "muv" and not settings.rank else settings.ranked_by
    parts: dict[str, Any] = {
        "cand": _source_name(settings.source),
        "min": settings.min_frequency,
        "cov": "auto" if settings.coverage is None else f"{settings.coverage:g}",
        "long": settings.max_token_length or "any",
        "pre": rule.pretokenizer,
        "norm": rule.normalize,
        "cut": rule.max_word_length,
        "uni": rule.unicode,
        "sizes": listed,
        "crit": settings.decides,
        "chose": chosen,
        "rank": ranked,
        "len": settings.length,
        "gamma": f"{settings.gamma:g}",
        "eps": f"{settings.epsilon:g}",
        "thr": f"{settings.threshold:g}",
        "width": settings.model_width,
        "boot": f"{settings.bootstrap}-{settings.seed}",
        "enc": vocabulary.encoding,
        "rule": vocabulary.merge_rule,
        "unk": vocabulary.unknown,
        "names": _short_digest([*settings.special, "", *settings.symbols]),
        "size": len(vocabulary),
        "unit": counts.unit,
        "corpus": counts.digest(),
        "v": __version__,
    }
    return "volt|" + "|".join(f"{name}:{value}" for name, value in parts.items())


def _source_name(source: Source) -> str:
    """A file is named by what is in it, not by where it lies."""
    if source.kind != "file":
        return f"{source.kind}-{source.number}"
    path = Path(source.path)
    if (path / "volt.json").exists():
        path = path / "volt.json"
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():
            digest.update(file.read_bytes())
    return f"file-{digest.hexdigest()[:8]}"


def _short_digest(names: Sequence[str]) -> str:
    """Enough of a hash to tell lists of special tokens and symbols apart."""
    return hashlib.sha256("\0".join(names).encode()).hexdigest()[:8]
