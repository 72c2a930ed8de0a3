"""Where candidates come from: `bpe:N`, `wordpiece:N`, `unigram:N`, `substring:N`, `file:PATH`.

A source names tokens. Their frequencies are always measured on the corpus: by the merges, where the
tokens have parents and are merged (`merge`, `split`), else by looking them up in the words
(`longest`, `unigram`; see pieces.py).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.checks import check_at_least, check_choice, thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.progress import Progress
from volt.counting.counts import WordCounts
from volt.counting.marks import BYTE_LETTERS, UNKNOWN
from volt.counting.words import WordRule
from volt.proposing.merges import (
    DEFAULT_MERGES,
    WORD_FINAL,
    Candidates,
    _resample,
    candidates,
)
from volt.proposing.pieces import CURVE_SIZES, LookUpEncoding, Mark, measure_pieces
from volt.settings import MOST
from volt.tokenizing.tokens import SPELLED, Token
from volt.tokenizing.vocabulary import Encoding, MergeEncoding, Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

SourceKind = Literal["bpe", "wordpiece", "unigram", "substring", "file"]
DEFAULT_NUMBER = {
    "bpe": DEFAULT_MERGES, "wordpiece": 30_000, "unigram": 100_000, "substring": 100_000,
}  # fmt: skip
DEFAULT_ENCODING: dict[SourceKind, Encoding] = {
    "bpe": "merge",
    "wordpiece": "longest",
    "unigram": "unigram",
    "substring": "unigram",
    "file": "unigram",
}
LONGEST_PIECE = 16
"""Characters; of the Unigram trainer, where no other length is asked for."""
RESERVED = "\t\n\r\0\u2585"
"""What the trainer takes for something else than text."""


@dataclass(frozen=True)
class Source:
    """What `--candidates` says."""

    kind: SourceKind
    number: int | None = None
    """How many candidates to make; None for a file."""
    path: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.path or self.number}"


def parse_source(text: str) -> Source:
    """`bpe:100000`, `unigram:30000`, `file:PATH`; a number alone is of BPE, a name alone has the
    number of the paper, or of its toolkit."""
    kind, _, rest = text.partition(":")
    if kind.isascii() and kind.isdecimal() and not rest:
        kind, rest = "bpe", kind
    if kind == "file" and rest:
        return Source("file", path=rest)
    if kind in DEFAULT_NUMBER and (rest == "" or (rest.isascii() and rest.isdecimal())):
        number = int(rest) if rest else DEFAULT_NUMBER[kind]
        if number <= MOST:
            return Source(cast(SourceKind, kind), number)
    raise SettingsError(
        "--candidates is bpe:N, unigram:N, wordpiece:N, substring:N or file:PATH, such as "
        f"unigram:30000, not {text!r}"
    )


def candidates_from(
    counts: WordCounts,
    source: Source | str,
    *,
    encoding: Encoding | None = None,
    coverage: float | None = None,
    max_token_length: int | None = None,
    min_frequency: int = 2,
    bootstrap: int = 0,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Candidates, list[str]]:
    """Candidates for an encoding (None: the source's own), and what to know about them."""
    source = parse_source(source) if isinstance(source, str) else source
    encoding = encoding or DEFAULT_ENCODING[source.kind]
    check_choice("encoding", encoding, get_args(Encoding))
    check_at_least("bootstrap", bootstrap, 0)
    check_at_least("min_frequency", min_frequency, 1)
    check_at_least("max_token_length", max_token_length, 1)
    progress = progress or Progress()
    threads = thread_count(threads)
    limits: dict[str, Any] = {
        "coverage": coverage,
        "max_token_length": max_token_length,
        "min_frequency": min_frequency,
    }
    merges = encoding in get_args(MergeEncoding)
    if merges and source.kind == "bpe":
        found = candidates(
            counts, merges=source.number or 0, bootstrap=bootstrap, seed=seed, threads=threads,
            progress=progress, **limits,
        )  # fmt: skip
        return found, _told(found.merges, source, "merges")
    if merges and source.kind != "wordpiece":
        raise SettingsError(
            f"the tokens of {source.kind} have no parents to be merged from: "
            "--encoding unigram or --encoding longest"
        )
    mark: Mark = ""
    if counts.rule.pretokenizer == "whitespace":
        mark = "##" if encoding == "longest" else "</w>"
    spelled = spell(counts, coverage, mark, threads)
    columns = np.ascontiguousarray(
        np.column_stack([counts.counts, _resample(counts, bootstrap, seed, threads)])
    )
    if merges:
        found = likelihood_candidates(
            spelled, counts, columns, source.number or 0, limits, progress
        )
        return found, _told(found.merges, source, "merges")

    listed, messages = name_tokens(source, counts, spelled, limits, threads, progress)
    texts, lengths = usable(listed, spelled.alphabet, mark, max_token_length)
    with progress.stage("Cutting words", CURVE_SIZES, "sizes") as report:
        found = measure_pieces(
            spelled.alphabet, texts, lengths, counts, columns,
            encoding=cast(LookUpEncoding, encoding), mark=mark, threads=threads, report=report,
        )  # fmt: skip
    made = len(texts)
    if source.kind != "file":
        messages += _told(made, source, "candidates")
    if found.merges < made:
        messages.append(
            f"{made - found.merges:,} of {made:,} candidates are in no word that is cut with all "
            "of them: left out"
        )
    return found, messages


def name_tokens(
    source: Source,
    counts: WordCounts,
    spelled: Spelling,
    limits: dict[str, Any],
    threads: int,
    progress: Progress,
) -> tuple[Iterable[str], list[str]]:
    """The tokens of a source, to be looked up, and what to know about them."""
    number, mark, longest = source.number or 0, spelled.mark, limits["max_token_length"]
    if source.kind == "file":
        return file_tokens(Path(source.path), counts.rule, mark)
    if source.kind == "bpe":
        run = candidates(counts, merges=number, threads=threads, progress=progress, **limits)
        return marked_anew(run.tokens[run.alphabet_size :], mark), []
    if source.kind == "wordpiece":
        return likelihood_merges(spelled, counts, number, limits, progress).texts, []
    if source.kind == "substring":
        return substrings(spelled, counts, number, longest, limits["min_frequency"]), []
    with progress.stage("Training Unigram", 1, "models") as report:
        pieces = unigram_pieces(counts, mark, number, longest)
        report(1)
    return pieces, []


def _told(made: int, source: Source, what: str) -> list[str]:
    asked = source.number or 0
    return [f"the text gives {made:,} {what}, not {asked:,}"] if made < asked else []


# ------------------------------------------------------------------------------------- the alphabet


@dataclass(frozen=True, eq=False)
class Spelling:
    """The words as symbols of the alphabet: word w is `symbols[offsets[w]:offsets[w + 1]]`."""

    alphabet: Candidates
    """Without any merge."""
    symbols: NDArray[np.uint32]
    offsets: NDArray[np.uint64]
    mark: Mark


def spell(counts: WordCounts, coverage: float | None, mark: Mark, threads: int) -> Spelling:
    """The alphabet that `coverage` asks for. With `</w>` the last character of a word is another
    symbol, with `##` all but the first are."""
    plain = candidates(counts, merges=0, coverage=coverage, threads=threads)
    if counts.rule.mode.byte_level:
        return Spelling(plain, counts.text.astype(np.uint32), counts.offsets, mark)
    text = counts.text.tobytes().decode()
    letters = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    characters = np.concatenate([[0], np.cumsum(counts.text & 0xC0 != 0x80)])
    offsets = characters[counts.offsets.astype(np.int64)]
    flags = np.zeros(len(letters), np.int64)
    if mark == WORD_FINAL:
        flags[offsets[1:] - 1] = 1
    elif mark == "##":
        flags[:] = 1
        flags[offsets[:-1]] = 0
    keys = 2 * letters + flags
    covered = {ord(text[0]) for text in plain.tokens if text != UNKNOWN}
    found, symbols = np.unique(keys, return_inverse=True)
    inside = np.isin(found >> 1, np.array(sorted(covered), np.int64))
    number_of = np.where(inside, np.cumsum(inside) - 1, int(inside.sum()))
    symbols = number_of[symbols.ravel()].astype(np.uint32)
    texts = [_symbol(key, mark) for key in found[inside].tolist()]
    unknown = None
    if not inside.all():
        unknown = len(texts)
        texts.append(UNKNOWN)
    weights = np.repeat(counts.counts, lengths_of(offsets))
    totals = np.zeros(len(texts), np.uint64)
    np.add.at(totals, symbols, weights)
    alphabet = replace(
        plain, tokens=texts, lengths=np.ones(len(texts), np.uint32), alphabet_counts=totals,
        unknown=unknown, alphabet_draws=None, merge_draws=None, whole_words=None,
    )  # fmt: skip
    return Spelling(alphabet, symbols, offsets.astype(np.uint64), mark)


def lengths_of(offsets: NDArray[Any]) -> NDArray[np.int64]:
    bounds = offsets.astype(np.int64)
    return np.asarray(bounds[1:] - bounds[:-1], np.int64)


def _symbol(key: int, mark: Mark) -> str:
    text = chr(key >> 1)
    if not key & 1:
        return text
    return text + WORD_FINAL if mark == WORD_FINAL else "##" + text


def usable(
    texts: Iterable[str], alphabet: Candidates, mark: Mark, max_token_length: int | None
) -> tuple[list[str], list[int]]:
    """Each text once, with its length, that has more than one character, all of the alphabet, and
    that does not read like a mark."""
    known = set(alphabet.tokens) - {UNKNOWN}
    found: dict[str, int] = {}
    for text in texts:
        symbols = symbols_of(text, mark)
        length = len(symbols)
        if (
            length > 1
            and length <= (max_token_length or length)
            and text != UNKNOWN
            and known.issuperset(symbols)
        ):
            found[text] = length
    return list(found), list(found.values())


def symbols_of(text: str, mark: Mark) -> list[str]:
    """The symbols of a token.

    >>> symbols_of("low</w>", "</w>"), symbols_of("low", "##"), symbols_of("##low", "##")
    (['l', 'o', 'w</w>'], ['l', '##o', '##w'], ['##l', '##o', '##w'])
    """
    if mark == WORD_FINAL and text.endswith(WORD_FINAL):
        letters = list(text.removesuffix(WORD_FINAL))
        return [*letters[:-1], letters[-1] + WORD_FINAL] if letters else []
    if mark == "##":
        inner = text.startswith("##")
        letters = ["##" + letter for letter in text.removeprefix("##")]
        return letters if inner or not letters else [letters[0][2:], *letters[1:]]
    return list(text)


# ---------------------------------------------------------------------------------------- wordpiece


@dataclass(frozen=True, eq=False)
class LikelihoodMerges:
    """What the merges made, and how the words end up."""

    texts: list[str]
    lengths: list[int]
    found: _core._LikelihoodMerges


def likelihood_merges(
    spelled: Spelling, counts: WordCounts, merges: int, limits: dict[str, Any], progress: Progress
) -> LikelihoodMerges:
    """Merge the pair with the highest likelihood ratio, count / (left count * right count); among
    equals the one whose left, then right, token has the lower id."""
    alphabet = spelled.alphabet
    plain = [_plain(text, spelled.mark) for text in alphabet.tokens]
    encoded = [text.encode() for text, _ in plain]
    with progress.stage("Merging", merges, "merges") as report:
        found = _core.likelihood_merges(
            spelled.symbols, spelled.offsets, counts.counts,
            np.frombuffer(b"".join(encoded), np.uint8),
            np.cumsum([0, *map(len, encoded)], dtype=np.uint64),
            np.array([marked for _, marked in plain], np.uint8),
            -1 if alphabet.unknown is None else alphabet.unknown, spelled.mark, merges,
            limits["max_token_length"] or 0, limits["min_frequency"] * counts.unit, report,
        )  # fmt: skip
    texts, lengths = list(alphabet.tokens), [1] * len(alphabet.tokens)
    for left, right in zip(found["left"].tolist(), found["right"].tolist(), strict=True):
        behind = texts[right].removeprefix("##") if spelled.mark == "##" else texts[right]
        texts.append(texts[left] + behind)
        lengths.append(lengths[left] + lengths[right])
    size = len(alphabet.tokens)
    return LikelihoodMerges(texts[size:], lengths[size:], found)


def _plain(symbol: str, mark: Mark) -> tuple[str, bool]:
    """The text of a symbol, and whether it has a mark."""
    if mark == WORD_FINAL and len(symbol) > 1 and symbol != UNKNOWN:
        return symbol.removesuffix(WORD_FINAL), True
    if mark == "##" and len(symbol) > 1 and symbol != UNKNOWN:
        return symbol.removeprefix("##"), True
    return symbol, False


def likelihood_candidates(
    spelled: Spelling,
    counts: WordCounts,
    columns: NDArray[np.uint64],
    merges: int,
    limits: dict[str, Any],
    progress: Progress,
) -> Candidates:
    """Merges scored by likelihood as candidates with parents, like those of BPE."""
    made = likelihood_merges(spelled, counts, merges, limits, progress)
    found, alphabet = made.found, spelled.alphabet
    size = len(alphabet) + len(made.texts)
    table = np.zeros((size, columns.shape[1]), np.uint64)
    pieces = lengths_of(found["offsets"])
    np.add.at(table, found["tokens"], np.repeat(columns, pieces, axis=0))
    whole = np.zeros(size, np.uint64)
    single = pieces == 1
    np.add.at(whole, found["tokens"][found["offsets"][:-1][single].astype(np.int64)],
              counts.counts[single])  # fmt: skip
    # A token was made as often as it is there in the end, or went into another.
    parents = list(zip(found["left"].tolist(), found["right"].tolist(), strict=True))
    for token in range(size - 1, len(alphabet) - 1, -1):
        for parent in parents[token - len(alphabet)]:
            table[parent] += table[token]
    draws = table[:, 1:]
    return replace(
        alphabet,
        tokens=[*alphabet.tokens, *made.texts],
        lengths=np.array([*alphabet.lengths.tolist(), *made.lengths], np.uint32),
        left=found["left"],
        right=found["right"],
        pair_counts=found["pair_counts"],
        merge_counts=found["merge_counts"],
        alphabet_draws=draws[: len(alphabet)] if draws.size else None,
        merge_draws=draws[len(alphabet) :] if draws.size else None,
        whole_words=whole,
    )


# ---------------------------------------------------------------------------------------- substring


def substrings(
    spelled: Spelling,
    counts: WordCounts,
    number: int,
    max_token_length: int | None,
    min_frequency: int,
) -> list[str]:
    """The most frequent substrings of words, of two symbols or more, counted at every place; ties:
    the shorter, then the text that comes first.

    Length after length. A substring is no more frequent than what it holds, so only places where
    one may still be among the best are looked at again: memory is that of the words, and the
    result exact.
    """
    lengths = lengths_of(spelled.offsets)
    weights = np.repeat(counts.counts, lengths)
    word_of = np.repeat(np.arange(len(lengths)), lengths)
    known = spelled.symbols != (len(spelled.alphabet) if spelled.alphabet.unknown is None
                                else spelled.alphabet.unknown)  # fmt: skip
    grams = np.where(known, spelled.symbols.astype(np.int64), -1)
    least = min_frequency * counts.unit
    kept: list[tuple[int, int, str]] = []
    length = 1
    while number and length < (max_token_length or len(grams)) and len(grams) > 1:
        length += 1
        # Two that overlap in all but one symbol make one that is longer by it.
        first, second = grams[:-1], grams[1:]
        places = np.flatnonzero((first >= 0) & (second >= 0) & (word_of[:-1] == word_of[1:]))
        keys = first[places] * (int(grams.max()) + 1) + second[places]
        found, index, inverse = np.unique(keys, return_index=True, return_inverse=True)
        totals = np.zeros(len(found), np.uint64)
        np.add.at(totals, inverse.ravel(), weights[places])
        enough = totals >= least
        if not enough.any():
            break
        kept += [
            (-int(totals[i]), length, _text(spelled, int(places[index[i]]), length))
            for i in np.flatnonzero(enough).tolist()
        ]
        kept = sorted(kept)[:number]
        if len(kept) == number:
            least = max(least, -kept[-1][0])
        numbers = np.where(totals >= least, np.cumsum(totals >= least) - 1, -1)
        grams = np.full(len(grams), -1, np.int64)
        grams[places] = numbers[inverse.ravel()]
    return [text for _, _, text in kept]


def _text(spelled: Spelling, place: int, length: int) -> str:
    symbols = spelled.symbols[place : place + length].tolist()
    texts = [spelled.alphabet.tokens[symbol] for symbol in symbols]
    if spelled.mark == "##":
        texts[1:] = [text.removeprefix("##") for text in texts[1:]]
    return "".join(texts)


# ------------------------------------------------------------------------------------------ unigram


def unigram_pieces(
    counts: WordCounts, mark: Mark, number: int, max_token_length: int | None
) -> list[str]:
    """The pieces of SentencePiece's Unigram trainer (seed and EM), over the words with their
    counts."""
    try:
        import sentencepiece
    except ImportError:
        raise SettingsError(
            "candidates of unigram need the package sentencepiece: "
            "pip install 'volt-vocab[sentencepiece]'"
        ) from None
    words = word_texts(counts)
    letters = set().union(*words)
    # One letter that the text does not have stands for the mark, which the trainer would cut.
    final = next(c for c in map(chr, range(0xE000, 0xF900)) if c not in letters)
    ending = final if mark == WORD_FINAL else ""
    lines = [
        f"{word}{ending}\t{count}"
        for word, count in zip(words, counts.counts.tolist(), strict=True)
        if not any(c in word for c in RESERVED)
    ]
    if not lines:
        raise InputError("there is not one word that SentencePiece can be trained on")
    longest = max_token_length or LONGEST_PIECE
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), input_format="tsv", model_writer=model,
            model_type="unigram", vocab_size=number + len(letters) + 2, hard_vocab_limit=False,
            character_coverage=1.0, normalization_rule_name="identity", add_dummy_prefix=False,
            remove_extra_whitespaces=False, split_by_whitespace=False,
            split_by_unicode_script=False, split_by_number=False, allow_whitespace_only_pieces=True,
            max_sentencepiece_length=longest, max_sentence_length=1 << 30, bos_id=-1, eos_id=-1,
            num_threads=1, minloglevel=2,
        )  # fmt: skip
    except (RuntimeError, ValueError) as error:
        raise InputError(f"SentencePiece can't train on these words: {error}") from None
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [trained.id_to_piece(i) for i in range(len(trained)) if not trained.is_unknown(i)]
    texts = [piece.replace(final, WORD_FINAL) if ending else piece for piece in pieces]
    long = [text for text in marked_anew(texts, mark) if len(symbols_of(text, mark)) > 1]
    return long[:number] if mark != "##" else long


def word_texts(counts: WordCounts) -> list[str]:
    """The words as text; in byte-level mode in GPT-2's letters."""
    data = counts.text.tobytes()
    words = [data[a:b] for a, b in pairwise(counts.offsets.tolist())]
    if counts.rule.mode.byte_level:
        return [word.decode("latin-1").translate(BYTE_LETTERS) for word in words]
    return [word.decode() for word in words]


# --------------------------------------------------------------------------------------------- file


def file_tokens(path: Path, rule: WordRule, mark: Mark) -> tuple[list[str], list[str]]:
    """The token texts of another vocabulary, with the marks that they have here; and what to know.

    Only texts are taken. Tokens that the words of this corpus are cut inside of are left out.
    """
    from volt.formats import import_vocabulary
    from volt.formats.assembly import crosses_words

    messages: list[str] = []
    if path.name == "volt.json" or (path / "volt.json").exists():
        vocabulary = load_vocabulary(path)
    else:
        vocabulary, messages = import_vocabulary(path)
    tokens = [token for token in vocabulary.tokens if token.kind in SPELLED]
    texts = [text for token in tokens for text in _moved(vocabulary, token, rule, mark)]
    whole = [text for text in texts if not crosses_words(text, rule.pretokenizer)]
    if len(whole) < len(texts):
        messages.append(
            f"{len(texts) - len(whole):,} tokens of {path.name} span two words of this text: "
            "left out"
        )
    return whole, messages


def _moved(vocabulary: Vocabulary, token: Token, rule: WordRule, mark: Mark) -> list[str]:
    """A token in the marks of another rule; both ways where its own do not tell."""
    try:
        text = vocabulary.plain_text(token.text).decode()
    except UnicodeDecodeError:  # a part of a character
        return [token.text] if rule.pretokenizer == vocabulary.rule.pretokenizer else []
    starts: bool | None = None
    ends: bool | None = None
    theirs = vocabulary.look_up.mark if vocabulary.look_up is not None else ""
    if vocabulary.rule.pretokenizer != "whitespace":
        starts, text = text.startswith(" "), text.removeprefix(" ")
    elif theirs:
        starts = not vocabulary.is_inner(token.text)
    else:
        ends = token.text.endswith(WORD_FINAL)
    if not text:
        return []
    if mark == WORD_FINAL:
        return [text + WORD_FINAL] * (ends is not False) + [text] * (ends is not True)
    if mark == "##":
        return [text] * (starts is not False) + ["##" + text] * (starts is not True)
    if rule.mode.byte_level:
        letters = text.encode().decode("latin-1").translate(BYTE_LETTERS)
        space = chr(BYTE_LETTERS[ord(" ")])
        return [space + letters] * (starts is not False) + [letters] * (starts is not True)
    return ["▁" + text] * (starts is not False) + [text] * (starts is not True)


def marked_anew(texts: Sequence[str], mark: Mark) -> list[str]:
    """Where tokens have to tell whether they start a word, and these do not: both."""
    if mark != "##":
        return list(texts)
    plain = [text.removesuffix(WORD_FINAL) for text in texts]
    return [marked for text in plain for marked in (text, "##" + text)]
