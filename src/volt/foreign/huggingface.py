"""A `tokenizer.json`, run by Hugging Face's `tokenizers`. Other files become one, too: BERT's
vocab.txt, vocab.json with merges.txt, and what is in a GGUF file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from volt.base.errors import SettingsError
from volt.base.extras import need
from volt.base.gate import SETTINGS, parse_json, read_bytes, read_json, read_text
from volt.base.schema import table
from volt.counting.marks import (
    BYTE_TOKENS,
    BYTES,
    END_MARK,
    INNER_MARK,
    LETTER_BYTES,
    SPACE_MARK,
    letter_bytes,
)
from volt.foreign.base import Change, Engine, by_id, library_errors
from volt.foreign.examine import examine_tokenizer_json
from volt.foreign.inner import Inner, looking_up, merging, word_model
from volt.foreign.json_text import JsonText, dumped, laid_out
from volt.foreign.settings_ids import renumbered
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.file import tokenizer_json
from volt.formats.huggingface.folder import (
    ADDED,
    MAP,
    TOKENIZER_CONFIG,
    read_beside,
    with_beside,
)
from volt.formats.reasons import UNKNOWN_PENALTY
from volt.tokenizing.merge_pairs import Pair
from volt.tokenizing.schemas import TOKEN_IDS

GENERATION = "generation_config.json"
BESIDE = (MAP, "chat_template.jinja", "chat_template.json")
"""Files that name tokens by their text, so that they stay as they are."""


class HuggingFace(Engine):
    """Runs a `tokenizer.json`."""

    def __init__(
        self, name: str, text: str | bytes, kind: str = "hf", folder: Path | None = None
    ) -> None:
        self.name, self.kind, self.folder = name, kind, folder
        self.messages = []
        data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        self.content = tokenizer_json(name, data)
        examine_tokenizer_json(self.content)
        head, columns, told = read_beside(self.content, folder)
        if told:
            data = json.dumps(head, ensure_ascii=False).encode()
            self.messages += told
        library = need("tokenizers", "hf")
        self.library = f"tokenizers {library.__version__}"
        with library_errors(f"{name}: tokenizers does not read it"):
            self.tokenizer = library.Tokenizer.from_buffer(data)
            # What a file says of padding and of longest lines is meant for another use.
            self.tokenizer.no_padding()
            self.tokenizer.no_truncation()
            if dropout := head["model"].get("dropout"):
                self.tokenizer.model.dropout = None
                head = {**head, "model": {**head["model"], "dropout": None}}
                self.messages.append(f"model.dropout {dropout} is for training: switched off")
        self.head, self.columns = head, columns
        model = head["model"]
        self.added = {one["content"]: one for one in head.get("added_tokens") or []}
        self._name_of = {
            number: name for name in self.added
            if (number := self.tokenizer.token_to_id(name)) is not None
        }  # fmt: skip
        self.named = frozenset(self._name_of)
        # A Unigram model has its unknown token by number, the others by name.
        self.unknown_id = model.get("unk_id")
        if model.get("unk_token") is not None:
            self.unknown_id = self.tokenizer.token_to_id(str(model["unk_token"]))
        if model.get("byte_fallback"):
            numbers = map(self.tokenizer.token_to_id, BYTE_TOKENS)
            self.byte_ids = frozenset(number for number in numbers if number is not None)
        self.whole = self.model_type == "WordLevel"
        self.before_word = " "

    @cached_property
    def text(self) -> str:
        return self.content.data.decode()

    @cached_property
    def data(self) -> dict[str, Any]:
        """The value of the file, with the names that are beside it."""
        whole: dict[str, Any] = self.content.whole
        return whole if self.folder is None else with_beside(whole, self.folder)[0]

    @cached_property
    def names(self) -> list[str | None]:  # type: ignore[override]
        vocab = self.data["model"]["vocab"]
        own = [(one[0], i) for i, one in enumerate(vocab)] if self._is_unigram else vocab.items()
        return by_id([*self.tokenizer.get_vocab(with_added_tokens=True).items(), *own])

    @property
    def named_texts(self) -> list[str]:
        return [self._name_of[number] for number in sorted(self.named)]

    @property
    def found(self) -> list[str]:
        return self.named_texts

    @property
    def around(self) -> tuple[list[str], list[str]] | None:
        if self.kind != "hf":  # made of files that have no post-processor
            return None
        found = self.tokenizer.encode("a")
        is_added = [*map(bool, found.special_tokens_mask), False]
        first = is_added.index(False)
        return found.tokens[:first], [name for name, added in zip(
            found.tokens[first:], is_added[first:], strict=False) if added]  # fmt: skip

    @property
    def _is_unigram(self) -> bool:
        return isinstance(self.head["model"]["vocab"], list)

    @property
    def model_type(self) -> str:
        """BPE, Unigram, WordPiece or WordLevel; older files do not say it."""
        model = self.head["model"]
        if isinstance(model.get("type"), str):
            return str(model["type"])
        if self._is_unigram:
            return "Unigram"
        if "merges" in model:
            return "BPE"
        return "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        # Such as an unknown token that is not a token.
        with library_errors(f"{self.name}: tokenizers can't encode"):
            found = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [one.ids for one in found]

    def decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(list(ids)))

    def _plain(self, number: int, name: str | None) -> bytes | None:
        suffix = self.data["model"].get("end_of_word_suffix")
        spelled = name is not None and number not in self.named and number != self.unknown_id
        if spelled and name is not None and suffix and self.byte_level:  # CLIP
            letters = name.removesuffix(suffix)
            return letter_bytes(letters) if BYTES.is_spelled(letters) else name.encode()
        return super()._plain(number, name)

    # -------------------------------------------------------------------------------------- words

    def words(self, text: str) -> list[str]:
        """Added tokens are found first, some of them in the normalized text, and are not among the
        words."""
        as_it_is, normalized = self._finders
        words: list[str] = []
        for part in as_it_is.between(text):
            for rest in normalized.between(self._normalized(part)):
                if self.tokenizer.pre_tokenizer is not None:
                    cut = self.tokenizer.pre_tokenizer.pre_tokenize_str(rest)
                    words += [word for word, _ in cut]
                else:
                    words += cut_at_marks(rest, self.names)
        if self._without_unknown is None:
            return words
        left = ("".join(c for c in word if c in self._without_unknown) for word in words)
        return [word for word in left if word]

    @cached_property
    def _without_unknown(self) -> frozenset[str] | None:
        """The characters that are left of a text where all others vanish."""
        model = self.data["model"]
        if (self.model_type != "BPE" or model.get("byte_fallback") or self.byte_level
                or self.unknown_id is not None):  # fmt: skip
            return None
        suffix = model.get("end_of_word_suffix") or ""
        letters = (name.removesuffix(suffix) for name in model["vocab"])
        return frozenset(letter for letter in letters if len(letter) == 1)

    def _normalized(self, text: str) -> str:
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    @cached_property
    def _finders(self) -> tuple[AddedFinder, AddedFinder]:
        """Of the added tokens that are found in the text as it is, and in the normalized text."""
        plain = {name: one for name, one in self.added.items() if not one.get("normalized")}
        others = {self._normalized(name): one for name, one in self.added.items()
                  if name not in plain}  # fmt: skip
        return AddedFinder(plain), AddedFinder(others)

    def inner(self) -> Inner:
        model, kind = self.data["model"], self.model_type
        if kind == "BPE":
            if model.get("continuing_subword_prefix"):
                raise SettingsError(
                    f"{self.name}: model.continuing_subword_prefix: BPE with marks inside words "
                    "can't be refitted or extended"
                )
            suffix = model.get("end_of_word_suffix") or ""
            listed_pairs = (one.split(" ") if isinstance(one, str) else one
                            for one in model["merges"])  # fmt: skip
            pairs = [(left, right) for left, right in listed_pairs]
            names = self.names
            if suffix not in ("", END_MARK):
                names, pairs = self._with_end_marks(names, pairs, suffix)
            found = merging(
                names, self.named, pairs=pairs, byte_level=not suffix and self.byte_level,
                suffix=suffix and END_MARK, unknown_id=self.unknown_id, byte_ids=self.byte_ids,
                fuse_unknown=bool(model.get("fuse_unk")),
                whole_words=bool(model.get("ignore_merges")),
            )  # fmt: skip
            if self._without_unknown is not None and found.vocabulary.unknown_id is None:
                raise SettingsError(
                    f"{self.name}: model.unk_token: none, and no byte or special tokens: what is "
                    "unknown vanishes, and it can't be refitted or extended"
                )
            return found
        if kind == "Unigram":
            listed = [float(score) for _, score in model["vocab"]]
            scores = [*listed, *[0.0] * (self.size - len(listed))]
            return looking_up(
                self.names, self.named, encoding="unigram", scores=scores,
                unknown_id=self.unknown_id, byte_ids=self.byte_ids,
                unknown_score=min(listed) - UNKNOWN_PENALTY,
            )  # fmt: skip
        if kind == "WordPiece":
            return looking_up(
                self.names, self.named, encoding="longest",
                mark=model.get("continuing_subword_prefix", INNER_MARK), unknown_id=self.unknown_id,
                longest_word=int(model.get("max_input_chars_per_word", 100)),
            )  # fmt: skip
        return word_model(self.names, self.named, self.unknown_id)

    def _with_end_marks(
        self, names: Sequence[str | None], pairs: Sequence[Pair], suffix: str
    ) -> tuple[list[str | None], list[Pair]]:
        """Names and merges with `</w>` where the file has another mark at the end of words."""
        unclear = next((name for name in names if name is not None and END_MARK in name), None)
        for left, right in pairs:
            if right == suffix or (not right.endswith(suffix) and (left + right).endswith(suffix)):
                unclear = left + right
        if unclear is not None:
            raise SettingsError(
                f"{self.name}: model.end_of_word_suffix: {suffix!r}; whether the token "
                f"{unclear[:40]!r} is the end of a word can't be told, so it can't be refitted or "
                "extended"
            )

        def ended(name: str) -> str:
            return name.removesuffix(suffix) + END_MARK if name.endswith(suffix) else name

        made = {left + right for left, right in pairs}
        fixed = {*self.named, self.unknown_id}
        found = [name if name is None or (i in fixed and name not in made) else ended(name)
                 for i, name in enumerate(names)]  # fmt: skip
        return found, [(ended(left), ended(right)) for left, right in pairs]

    @cached_property
    def byte_level(self) -> bool:
        """Do its words consist of letters for bytes? A step named ByteLevel makes them."""
        found = json.dumps([self.data.get("normalizer"), self.data.get("pre_tokenizer")])
        own = {name for name in self.spelled if len(name) == 1}
        return '"ByteLevel"' in found and all(ord(name) in LETTER_BYTES for name in own)

    # -------------------------------------------------------------------------------------- write

    def rewrite(self, change: Change) -> dict[str, bytes]:
        if (suffix := self.data["model"].get("end_of_word_suffix")) not in (None, "", END_MARK):
            change = change.spelled(
                lambda text: (
                    text.removesuffix(END_MARK) + suffix if text.endswith(END_MARK) else text
                )
            )
        text = rewritten_json(self.text, self.data, self.model_type, self.names, change, self.name)
        files = {"tokenizer.json": text.encode()}
        if self.folder is not None:
            files |= renumbered_beside(self.folder, change)
        return files


class AddedFinder:
    """Finds added tokens, and gives the text between them."""

    def __init__(self, added: Mapping[str, Mapping[str, Any]]) -> None:
        self.added = {name: one for name, one in added.items() if name}
        names = sorted(self.added, key=lambda name: (-len(name), name))
        forms = (rf"(?<!\w){re.escape(name)}(?!\w)" if self.added[name].get("single_word")
                 else re.escape(name) for name in names)  # fmt: skip
        self.pattern = re.compile("|".join(forms)) if names else None

    def between(self, text: str) -> list[str]:
        """Some tokens take the white space beside them."""
        if self.pattern is None:
            return [text] if text else []
        parts, last, strips = [], 0, False
        for match in self.pattern.finditer(text):
            one, part = self.added[match[0]], text[last : match.start()]
            part = part.lstrip() if strips else part
            parts.append(part.rstrip() if one.get("lstrip") else part)
            last, strips = match.end(), bool(one.get("rstrip"))
        parts.append(text[last:].lstrip() if strips else text[last:])
        return [part for part in parts if part]


def cut_at_marks(text: str, names: Sequence[str | None]) -> list[str]:
    """A text that nothing cuts, cut where no token reaches over: before a `▁` after another letter.
    Tokens that contain such a place keep it whole."""
    if any(name is not None and re.search(f"[^{SPACE_MARK}]{SPACE_MARK}", name) for name in names):
        return [text]
    return [part for part in re.split(f"(?<=[^{SPACE_MARK}])(?={SPACE_MARK})", text) if part]


# ---------------------------------------------------------------------------------------- rewriting


def rewritten_json(
    text: str, data: dict[str, Any], kind: str, names: Sequence[str | None], change: Change,
    name: str,
) -> str:  # fmt: skip
    """A `tokenizer.json` with another vocabulary; every other byte stays."""
    source = JsonText(text)
    spans: dict[tuple[int, int], str] = {}
    model = data["model"]
    vocab_span = source.find(("model", "vocab"))
    assert vocab_span is not None  # examined
    style = source.style(("model", "vocab"))
    new_names: list[str | None] = [None] * change.size
    for old, new in enumerate(change.id_map.tolist()):
        if new >= 0:
            new_names[new] = names[old]
    if kind == "Unigram":
        members = _unigram_members(model["vocab"], new_names, change)
        spans[vocab_span] = laid_out(members, style, "[]")
        if (span := source.find(("model", "unk_id"))) and model.get("unk_id") is not None:
            spans[span] = str(change.new_id(model["unk_id"], f"{name}: model.unk_id"))
    else:
        kept = [(change.id_map[i], token) for token, i in model["vocab"].items()
                if i < len(change.id_map) and change.id_map[i] >= 0]  # fmt: skip
        if change.added:
            # Added tokens get a place before the new ones, or the library would number them again.
            inside = {number for number, _ in kept}
            kept += [(number, token) for number, token in enumerate(new_names)
                     if token is not None and number not in inside]  # fmt: skip
        members = [f"{dumped(token)}: {number}" for number, token in sorted(kept)]
        members += [f"{dumped(one.text)}: {i}" for i, one in enumerate(change.added, change.kept)]
        spans[vocab_span] = laid_out(members, style, "{}")
    merges_span = source.find(("model", "merges"))
    if kind == "BPE" and merges_span is not None:
        merges = kept_merges(model["merges"], new_names, change)
        spans[merges_span] = laid_out(
            [dumped(one) for one in merges], source.style(("model", "merges")), "[]"
        )
    for number, one in enumerate(data.get("added_tokens") or []):
        span = source.find(("added_tokens", number, "id"))
        if span is not None:
            spans[span] = str(change.new_id(one["id"], f"{name}: added_tokens"))
    span = source.find(("padding", "pad_id"))
    if span is not None and isinstance(data.get("padding"), dict):
        spans[span] = str(change.new_id(data["padding"]["pad_id"], f"{name}: padding"))
    for path, number in _post_ids(data.get("post_processor"), ("post_processor",)):
        if (span := source.find(path)) is not None:
            spans[span] = str(change.new_id(number, f"{name}: post_processor"))
    return source.with_spans(spans)


def rewritten_table(text: str, vocab: Mapping[str, int], change: Change) -> str:
    """A vocab.json with other tokens, in the layout that it has."""
    source = JsonText(text)
    kept = sorted((int(change.id_map[i]), name) for name, i in vocab.items()
                  if change.id_map[i] >= 0)  # fmt: skip
    members = [f"{dumped(name)}: {number}" for number, name in kept]
    members += [f"{dumped(one.text)}: {i}" for i, one in enumerate(change.added, change.kept)]
    span = source.find(())
    assert span is not None  # it was read
    return source.with_spans({span: laid_out(members, source.style(()), "{}")})


def _unigram_members(vocab: list[Any], names: Sequence[str | None], change: Change) -> list[str]:
    kept = [(int(change.id_map[i]), dumped(one)) for i, one in enumerate(vocab)
            if change.id_map[i] >= 0]  # fmt: skip
    members = [one for _, one in sorted(kept)]
    if change.added and len(members) < change.kept:
        # Ids are places in this list, so added tokens before the new ones have a place too. Their
        # score does not matter: they are found before the model sees the text.
        members += [dumped([names[i] or f"<|place-{i}|>", 0.0])
                    for i in range(len(members), change.kept)]  # fmt: skip
    return [*members, *(dumped([one.text, one.score]) for one in change.added)]


def kept_merges(
    merges: Sequence[Any], names: Sequence[str | None], change: Change
) -> list[str | list[str]]:
    """The merges whose tokens stay, in their order and spelling, then the new ones. A token whose
    merge is replaced has no other."""
    made = {"".join(pair) for pair in change.rerouted}
    strings = bool(merges) and isinstance(merges[0], str)
    known = {name for name in names if name is not None}
    stays: list[str | list[str]] = []
    for merge in merges:
        pair = merge.split(" ") if isinstance(merge, str) else list(merge)
        if tuple(pair) in change.rerouted:
            pair = list(change.rerouted[pair[0], pair[1]])
            merge = " ".join(pair) if strings else pair
        elif "".join(pair) in made:
            continue
        if pair[0] in known and pair[1] in known and pair[0] + pair[1] in known:
            stays.append(merge)
    for one in change.added:
        stays += [" ".join(pair) if strings else list(pair) for pair in one.pairs]
    return list({str(merge): merge for merge in stays}.values())  # the first place counts


def _post_ids(part: Any, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], int]]:
    """A post-processor: ids are in `ids` lists, or in pairs of a token and its id."""
    found: list[tuple[tuple[str | int, ...], int]] = []
    members: list[tuple[str | int, Any]] = []
    if isinstance(part, dict):
        members = list(part.items())
    elif isinstance(part, list):
        if len(part) == 2 and isinstance(part[0], str) and type(part[1]) is int:
            return [((*path, 1), part[1])]
        members = list(enumerate(part))
    for key, value in members:
        if key == "ids" and isinstance(value, list):
            found += [((*path, key, i), one) for i, one in enumerate(value)]
        else:
            found += _post_ids(value, (*path, key))
    return found


def renumbered_ids(file: Path, change: Change) -> bytes:
    """Settings that name tokens by their ids; the others stay as they are written."""

    def new_id(number: Any, where: str, required: bool) -> int:
        if not required and type(number) is int and 0 <= number < len(change.id_map):
            return int(change.id_map[number])
        return change.new_id(number, where)

    text = read_text(file)
    data = parse_json(str(file), text, table({}))
    new = renumbered(data, new_id, file.name, change.notes)
    return JsonText(text).with_changes(data, new).encode()


def renumbered_beside(folder: Path, change: Change) -> dict[str, bytes]:
    """The files beside a tokenizer, with the new ids; what names tokens by text stays as it is."""
    files = {name: read_bytes(folder / name) for name in BESIDE if (folder / name).exists()}
    config = folder / CONFIG
    if config.exists():
        text = read_text(config)
        parse_json(str(config), text, TOKENIZER_CONFIG)
        source = JsonText(text)
        spans = {}
        for key, _, key_span in source.children(("added_tokens_decoder",)):
            if key_span is not None and str(key).isdigit():
                new = change.new_id(int(key), f"{config}: added_tokens_decoder")
                spans[key_span] = dumped(str(new))
        files[CONFIG] = source.with_spans(spans).encode()
    if (folder / GENERATION).exists():
        files[GENERATION] = renumbered_ids(folder / GENERATION, change)
    if (folder / ADDED).exists():
        ids: Mapping[str, int] = read_json(folder / ADDED, TOKEN_IDS, SETTINGS)
        source = JsonText(read_text(folder / ADDED))
        new_ids: dict[tuple[str | int, ...], str] = {
            (key,): str(change.new_id(value, ADDED)) for key, value in ids.items()
        }
        files[ADDED] = source.with_values(new_ids).encode()
    return files
