"""Tokenizer: text to ids and back, with a finished vocabulary.

>>> import volt
>>> from volt.tokenizing.build import build_vocabulary
>>> found = volt.candidates([["low lower lowest flow blow"] * 3], min_frequency=4)
>>> tok = Tokenizer(build_vocabulary(found, range(len(found))))
>>> [tok.id_to_token(i) for i in tok.encode("low  slow")]
['▁low', '▁', '▁', 's', 'low']
>>> tok.decode(tok.encode("low  slow"))
'low  slow'

In metaspace mode a space is added before every text that does not start with a special token or a
symbol; `decode` removes it again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from volt import _core
from volt.base.arguments import names_arguments, wrong_type
from volt.base.checks import thread_count
from volt.base.errors import InputError, SettingsError
from volt.base.options import accepts
from volt.base.progress import Progress
from volt.counting.counts import WordCounts
from volt.counting.decoding import Cleaner
from volt.counting.inputs import Text
from volt.counting.normalizers import BoundNormalizer
from volt.settings import EncodeSettings, TextForm
from volt.tokenizing.detokenizing import Decodes
from volt.tokenizing.encoder import NameFinder, check_dropout, lone_surrogate
from volt.tokenizing.feeding import CustomEncoder, Feeder
from volt.tokenizing.locating import located, parts_between
from volt.tokenizing.offsets import word_numbers
from volt.tokenizing.printing import print_table, printed_token, written_tokens
from volt.tokenizing.vocabulary import Vocabulary

AllowedSpecial = Iterable[str] | Literal["all"]
Usage = tuple[NDArray[np.int64], NDArray[np.int64]]


class Tokenizer(Decodes):
    """Encodes and decodes with a vocabulary. Python threads may share one.

    `threads` is the number of native threads for a batch or a file (default: one per core). If the
    vocabulary normalizes text (`vocabulary.rule.normalize`, `vocabulary.normalizer`), that happens
    first.
    """

    @names_arguments
    def __init__(self, vocabulary: Vocabulary, *, threads: int | None = None) -> None:
        self.vocabulary = vocabulary
        self.threads = thread_count(threads)
        self._encoder = vocabulary.encoder
        normalize = vocabulary.rule.normalize
        self._form: Any = None if normalize == "none" else normalize.upper()
        self._normalizes = self._form is not None or vocabulary.normalizer is not None
        self._masks: dict[frozenset[str], bytes] = {frozenset(): b""}
        self._patterns: dict[frozenset[str], NameFinder | None] = {}
        mode = vocabulary.rule.mode
        self._cuts = mode if mode.custom else None
        self._usage: WeakKeyDictionary[WordCounts, Usage] = WeakKeyDictionary()

    def with_vocabulary(self, vocabulary: Vocabulary) -> Tokenizer:
        """The same tokenizer for the same tokens with other data, such as frequencies.

        >>> len(tokenizer.with_vocabulary(tokenizer.vocabulary)) == len(tokenizer)
        True
        """
        other = object.__new__(Tokenizer)
        other.__dict__ |= self.__dict__ | {"vocabulary": vocabulary}
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Tokenizer, threads=self.threads), (self.vocabulary,)

    def __copy__(self) -> Tokenizer:
        return self.with_vocabulary(self.vocabulary)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        """A tokenizer never changes, so that a copy shares what it was made from."""
        return self.with_vocabulary(self.vocabulary)

    def __repr__(self) -> str:
        rule = self.vocabulary.rule.pretokenizer
        return f"Tokenizer({len(self)} tokens, {rule}, threads={self.threads})"

    def _repr_html_(self) -> str:
        """In a notebook: a sentence in coloured tokens."""
        from volt.report.notebook import tokenizer_html

        return tokenizer_html(self)

    @property
    def bos_id(self) -> int | None:
        """The id of the token that begins a text; None without one."""
        return self.vocabulary.role_id("bos")

    @property
    def eos_id(self) -> int | None:
        """The id of the token that ends a text; None without one.

        >>> tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id
        (1, 2, 0)
        """
        return self.vocabulary.role_id("eos")

    @property
    def pad_id(self) -> int | None:
        """The id of the token that fills up a batch; None without one."""
        return self.vocabulary.role_id("pad")

    def show(self, text: str) -> Any:
        """The tokens of a text: coloured in a notebook, between bars elsewhere.

        >>> tokenizer.show("low slow")
        ␣low|␣|s|low
        """
        from volt.report.notebook import show

        return show(self, text)

    def __len__(self) -> int:
        return len(self.vocabulary)

    @cached_property
    def tokens(self) -> list[str]:
        """The text of every token, by id, with marks: `▁low`, `low</w>`, `Ġlow`, `<0x0A>`.

        >>> tokenizer.tokens[1]
        '<s>'
        """
        return self.vocabulary.texts

    @property
    def vocab_size(self) -> int:
        """The number of tokens.

        >>> tokenizer.vocab_size == len(tokenizer)
        True
        """
        return len(self)

    @property
    def special_ids(self) -> dict[str, int]:
        """The special tokens and their ids.

        >>> tokenizer.special_ids
        {'<pad>': 0, '<s>': 1, '</s>': 2, '<unk>': 3}
        """
        return dict(self.vocabulary.special_ids)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None.

        >>> tokenizer.token_to_id("</s>"), tokenizer.token_to_id("no token")
        (2, None)
        """
        if not isinstance(token, str):
            raise wrong_type("token", "a str", token)
        return self.vocabulary.ids.get(token)

    @names_arguments
    def id_to_token(self, token_id: int) -> str:
        """The token of an id.

        >>> tokenizer.id_to_token(2)
        '</s>'
        """
        return self.tokens[self._decoder.checked_id(token_id)]

    # ------------------------------------------------------------------------------------- encode

    def encode(
        self,
        text: str,
        *,
        allowed_special: AllowedSpecial = (),
        dropout: float = 0.0,
        seed: int = 0,
    ) -> list[int]:
        """The ids of a text.

        The name of a special token is ordinary text, unless it is in `allowed_special` (or that is
        "all"). Symbols are tokens wherever they occur, the longest first. `dropout` skips every
        possible merge with this probability at every step (BPE-dropout); the same text and seed
        give the same ids.

        >>> [tokenizer.id_to_token(i) for i in tokenizer.encode("low slow")]
        ['▁low', '▁', 's', 'low']
        """
        if allowed_special:
            allowed_special = self.special_names(allowed_special)
        mask = self._allowed(allowed_special) if allowed_special else b""
        if dropout != 0 or seed != 0:
            check_dropout(self.vocabulary, dropout, seed)
        if self._normalizes:
            text = self._normalized(text, allowed_special)
        try:
            if self._cuts is not None:
                return self._encode_custom(text, frozenset(allowed_special), dropout, seed)
            return self._encoder.encode(text, mask, dropout, seed)
        except UnicodeEncodeError as error:
            raise lone_surrogate("the text", error) from None
        except TypeError:
            self._normalized(text)  # names a text that is not a string
            raise

    @names_arguments
    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        allowed_special: AllowedSpecial = (),
        dropout: float = 0.0,
        seed: int = 0,
    ) -> list[list[int]]:
        """The ids of each text. With dropout, text `i` draws the same as line `i` of a file.

        >>> tokenizer.encode_batch(["low", "low"]) == [tokenizer.encode("low")] * 2
        True
        """
        allowed = self.special_names(allowed_special)
        mask = self._allowed(allowed)
        check_dropout(self.vocabulary, dropout, seed)
        if isinstance(texts, str):
            raise InputError("encode_batch takes a list of texts; encode takes one")
        batch = list(texts)
        if self._form is not None or set(map(type, batch)) - {str}:  # one may not be text at all
            batch = [self._normalized(text, allowed) for text in batch]
        elif self.vocabulary.normalizer is not None:
            batch = self.vocabulary.normalizer.batch(batch, self._name_pattern(allowed))
        try:
            if self._cuts is not None:
                return [self._encode_custom(text, allowed, dropout, seed) for text in batch]
            return self._encoder.encode_batch(batch, mask, dropout, seed, self.threads)
        except UnicodeEncodeError as error:
            number = next(i for i, text in enumerate(batch) if text == error.object)
            raise lone_surrogate(f"text {number}", error) from None

    @names_arguments
    def encode_array(
        self, text: str, *, allowed_special: AllowedSpecial = ()
    ) -> NDArray[np.uint32]:
        """The ids of a text as an array, without a Python object per id.

        >>> tokenizer.encode_array("low").dtype
        dtype('uint32')
        """
        allowed = self.special_names(allowed_special)
        text = self._normalized(text, allowed)
        try:
            if self._cuts is not None:
                return np.array(self._encode_custom(text, allowed, 0.0, 0), np.uint32)
            return self._encoder.encode_array(text, self._allowed(allowed))
        except UnicodeEncodeError as error:
            raise lone_surrogate("the text", error) from None

    def count(self, text: str, *, allowed_special: AllowedSpecial = ()) -> int:
        """How many tokens a text has, without making them.

        >>> tokenizer.count("low  slow")
        5
        """
        if allowed_special:
            allowed_special = self.special_names(allowed_special)
        mask = self._allowed(allowed_special) if allowed_special else b""
        if self._normalizes:
            text = self._normalized(text, allowed_special)
        try:
            if self._cuts is not None:
                return len(self._encode_custom(text, frozenset(allowed_special), 0.0, 0))
            return self._encoder.count(text, mask)
        except UnicodeEncodeError as error:
            raise lone_surrogate("the text", error) from None
        except TypeError:
            self._normalized(text)  # names a text that is not a string
            raise

    @names_arguments
    def truncate(self, text: str, max_tokens: int, *, allowed_special: AllowedSpecial = ()) -> str:
        """The longest prefix of a text that ends where a token ends, and has at most `max_tokens`
        tokens when it is encoded by itself. Takes time in proportion to the text, at most.

        >>> tokenizer.truncate("low low slow", 3)
        'low low '
        """
        from volt.tokenizing.lengths import truncate

        return truncate(self, text, max_tokens, allowed_special)

    @names_arguments
    def __call__(
        self,
        text: str | Sequence[str],
        text_pair: str | Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        allowed_special: AllowedSpecial = (),
        padding: bool | Literal["longest", "max_length"] = False,
        truncation: bool = False,
        max_length: int | None = None,
        return_offsets_mapping: bool = False,
        return_tensors: Literal["np"] | None = None,
    ) -> dict[str, Any]:
        """Encode a text or a list of texts, or pairs of them, as a model gets them: a dictionary
        with `input_ids` and `attention_mask`, for pairs `token_type_ids` too.

        `add_special_tokens` puts bos and eos around a text, if the vocabulary says so (`add_bos`,
        `add_eos`). `padding` fills up to the longest text or to `max_length`, on the side that the
        vocabulary names. `truncation` cuts to `max_length` (default: that of the vocabulary).

        >>> tokenizer(["low low", "low"], padding=True)["attention_mask"]
        [[1, 1], [1, 0]]
        """
        from volt.tokenizing.calling import Call, called

        how = Call(
            add_special_tokens, self.special_names(allowed_special), padding, truncation,
            max_length, return_offsets_mapping, return_tensors,
        )  # fmt: skip
        return called(self, text, text_pair, how)

    def to_transformers(self) -> Any:
        """A `transformers.PreTrainedTokenizerFast` with the same ids, roles and chat template.

        >>> other = tokenizer.to_transformers()  # doctest: +SKIP
        """
        from volt.formats.huggingface import to_transformers

        return to_transformers(self.vocabulary)

    def _encode_custom(
        self, text: str, allowed: frozenset[str], dropout: float, seed: int
    ) -> list[int]:
        """By a pattern of the user: the native code gets words and names one by one."""
        assert self._cuts is not None
        pieces: list[str] = []
        for i, part in enumerate(parts_between(self, text, allowed)):
            pieces += [part] if i % 2 else self._cuts.matches(part)
        mask = self._allowed(allowed)
        found = self._encoder.encode_batch(pieces, mask, dropout, seed, self.threads)
        return list(chain.from_iterable(found))

    @names_arguments
    def encode_words(self, counts: WordCounts) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The ids of every word type, one after the other, and where each word begins: word `w` is
        `ids[offsets[w]:offsets[w + 1]]`. Words are taken as they are, normalized or not.

        >>> import volt
        >>> ids, offsets = tokenizer.encode_words(volt.count([["low slow"]]))
        >>> offsets.tolist()
        [0, 1, 4]
        """
        mine, theirs = self.vocabulary.rule.pretokenizer, counts.rule.pretokenizer
        if mine != theirs:
            raise SettingsError(f"the words are {theirs}, the vocabulary is {mine}")
        return self._encoder.encode_words(counts.text, counts.offsets, self.threads)

    @names_arguments
    def usage(self, counts: WordCounts) -> Usage:
        """How often each token occurs in the words, and how many tokens each word has. The result
        is kept as long as the counts are.

        >>> import volt
        >>> tokens, pieces = tokenizer.usage(volt.count([["low slow"]]))
        >>> int(tokens.sum()), pieces.tolist()
        (4, [1, 3])
        """
        found = self._usage.get(counts)
        if found is None:
            ids, offsets = self.encode_words(counts)
            pieces = np.diff(offsets).astype(np.int64)
            weights = np.repeat(counts.counts.astype(np.int64), pieces)
            if int(weights.sum()) < 1 << 53:  # then numbers and their sums are exact as floats
                tokens = np.bincount(ids, weights, minlength=len(self)).astype(np.int64)
            else:
                tokens = np.zeros(len(self), np.int64)
                np.add.at(tokens, ids, weights)
            found = self._usage[counts] = tokens, pieces
        return found

    @names_arguments
    def encode_with_offsets(
        self, text: str, *, allowed_special: AllowedSpecial = ()
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids, and for each the characters of the text `(start, end)` it stands for.

        A token that is a part of a character has the span of the whole character. The space added
        before the text is nowhere: `▁low` at the start is `(0, 3)`, and `▁` there is `(0, 0)`.
        Offsets are those of the text as it is given, also if it is normalized first.

        >>> tokenizer.encode_with_offsets("low slow")[1]
        [(0, 3), (3, 4), (4, 5), (5, 8)]
        """
        allowed = self.special_names(allowed_special)
        return located(self, text, allowed)[:2]

    @names_arguments
    def encode_with_words(
        self, text: str, *, allowed_special: AllowedSpecial = ()
    ) -> tuple[list[int], list[tuple[int, int]], list[int]]:
        """The same, and for each token the number of the word it is in. Words are those of the
        exported `tokenizer.json`: a special token or symbol in the text is a word, too.

        >>> tokenizer.encode_with_words("low slow")[2]
        [0, 1, 1, 1]
        """
        allowed = self.special_names(allowed_special)
        ids, spans, cut, places = located(self, text, allowed)
        return ids, spans, word_numbers(self.vocabulary, parts_between(self, cut, allowed), places)

    @cached_property
    def _apart(self) -> Tokenizer:
        """With one unknown token per unknown character, which shows where they are. For text that
        is already normalized."""
        bare = replace(self.vocabulary, fuse_unknown=False, normalizer=None)
        return Tokenizer(bare, threads=1)

    @cached_property
    def _bare(self) -> Tokenizer:
        """For text that is already normalized."""
        rule = replace(self.vocabulary.rule, normalize="none")
        other = self.with_vocabulary(replace(self.vocabulary, rule=rule, normalizer=None))
        other._normalizes = False
        return other

    @accepts(EncodeSettings)
    def encode_file(
        self,
        path: Text | Iterable[Text],
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The ids of a file. Text `i` is `ids[offsets[i]:offsets[i + 1]]`.

        A text is a document (the file, or each record of it) or a line: everything before its line
        feed. By default it is what the vocabulary reads. No Python object is made per token. The
        options are those of `volt encode`: `field`, `unit`, `allowed_special`, `dropout` and so on.

        >>> ids, offsets = tokenizer.encode_file("train.txt")  # doctest: +SKIP
        """
        encoder, fed = self._file_encoder(path, EncodeSettings(**options), progress)
        for _ in fed:
            encoder.collect()
        ids, ends = encoder.take()
        return ids, np.concatenate([np.zeros(1, np.uint64), ends])

    @accepts(EncodeSettings)
    def encode_to_arrays(
        self,
        inputs: Text | Iterable[Text],
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint64]]]:
        """The ids of files of any size, block by block: the next ids, and where texts (lines or
        documents, see `encode_file`) end among all ids so far. A text may continue in the next
        block.

        >>> for ids, ends in tokenizer.encode_to_arrays([["low", "slow"]]):
        ...     print(len(ids), ends.tolist())
        4 [1, 4]
        """
        encoder, fed = self._file_encoder(inputs, EncodeSettings(**options), progress)
        for _ in fed:
            encoder.collect()
            yield encoder.take()

    @accepts(EncodeSettings)
    def encode_to_text(
        self,
        inputs: Text | Iterable[Text],
        form: TextForm = "tokens",
        *,
        progress: Progress | None = None,
        **options: Any,
    ) -> Iterator[bytes]:
        """Files of any size as lines of tokens or ids (see `written`), separated by spaces, block
        by block: a line per text, which is a line or a document (see `encode_file`). A last line
        without a line end has none here either.

        >>> b"".join(tokenizer.encode_to_text([["low", "slow"]])).decode()
        '▁low\\n▁ s low\\n'
        """
        names = self.written(form)
        table: Any = print_table(names) if self._cuts is None else names
        encoder, fed = self._file_encoder(inputs, EncodeSettings(**options), progress)
        unfinished = False
        for _ in fed:
            block = encoder.print(table)
            if unfinished and block:
                yield b"\n"  # the last line of a file does not go on in the next file
            yield block
            unfinished = encoder.unfinished

    @cached_property
    def printed(self) -> list[str]:
        r"""The tokens as they are printed: white space and line ends (of Unicode or Python) are
        `\u{...}`, and so is a backslash that could be mistaken for that.

        >>> tokenizer.printed[1]
        '<s>'
        """
        return [printed_token(token) for token in self.tokens]

    def written(self, form: TextForm = "tokens") -> list[str]:
        """What stands for every id in a line of text: the token as it is printed, the id, or the
        token in the notation of subword-nmt, `lo@@ w`, whose white space stays as it is.

        >>> tokenizer.written("ids")[:3]
        ['0', '1', '2']
        """
        return self.printed if form == "tokens" else written_tokens(self.vocabulary, form)

    def _file_encoder(
        self, inputs: Text | Iterable[Text], settings: EncodeSettings, progress: Progress | None
    ) -> tuple[Any, Iterator[None]]:
        """An encoder, and an iterator that feeds it: after each step a block is encoded."""
        dropout, seed = settings.dropout, settings.seed
        check_dropout(self.vocabulary, dropout, seed)
        rule = self.vocabulary.rule
        reads = settings.unit or rule.reads
        allowed = self.special_names(settings.allowed_special)
        mask = self._allowed(allowed)
        encoder: Any
        if self._cuts is None:
            encoder = _core.LineEncoder(self._encoder, mask, dropout, seed, self.threads, reads)
        else:
            encode = partial(self._encode_custom, allowed=allowed, dropout=dropout, seed=seed)
            encoder = CustomEncoder(encode, reads)
        normalizer = None
        if self.vocabulary.normalizer is not None:
            names = self._name_pattern(allowed)
            normalizer = BoundNormalizer(self.vocabulary.normalizer, names)
        cleaner = Cleaner(settings.on_invalid, rule.normalize, normalizer, reads == "document")
        feeder = Feeder(encoder, reads, settings, cleaner)
        return encoder, feeder.feed(inputs, progress or Progress())

    def _normalized(self, text: str, allowed: Iterable[str] = ()) -> str:
        if not isinstance(text, str):
            several = isinstance(text, list | tuple)
            hint = " (encode_batch takes several texts)" if several else ""
            raise wrong_type("text", f"a str{hint}", text)
        if not self._normalizes:
            return text
        if self.vocabulary.normalizer is None:
            return unicodedata.normalize(self._form, text)
        return self.vocabulary.normalizer(text, self._name_pattern(frozenset(allowed)))

    def _name_pattern(self, allowed: frozenset[str]) -> NameFinder | None:
        """Finds symbols and allowed special tokens, the longest first."""
        if allowed not in self._patterns:
            named = allowed or self.vocabulary.columns.are("symbol").any()
            finder = NameFinder(self._encoder, self._allowed(allowed))
            self._patterns[allowed] = finder if named else None
        return self._patterns[allowed]

    @names_arguments
    def special_names(self, allowed_special: AllowedSpecial) -> frozenset[str]:
        """The names that `allowed_special` stands for.

        >>> sorted(tokenizer.special_names("all"))
        ['</s>', '<pad>', '<s>', '<unk>']
        """
        if isinstance(allowed_special, str):
            if allowed_special != "all":
                raise SettingsError(
                    f'`allowed_special` must be a set of names or "all", not {allowed_special!r}'
                )
            return frozenset(self.vocabulary.of_kind("special"))
        names = frozenset(allowed_special)
        if not all(isinstance(name, str) for name in names):
            raise wrong_type("allowed_special", 'a set of names or "all"', allowed_special)
        return names

    def _allowed(self, allowed_special: AllowedSpecial) -> bytes:
        """One byte per token: 1 for an allowed special token. Empty if none is allowed."""
        names = self.special_names(allowed_special)
        mask = self._masks.get(names)
        if mask is None:
            numbers = self.vocabulary.special_ids
            if unknown := names - numbers.keys():
                raise SettingsError(f"not special tokens: {', '.join(sorted(unknown))}")
            flags = bytearray(len(self.vocabulary))
            for name in names:
                flags[numbers[name]] = 1
            mask = self._masks[names] = bytes(flags)
        return mask
