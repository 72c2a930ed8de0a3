"""Ranks files and tekken.json, run by tiktoken."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from volt.base.errors import InputError
from volt.base.extras import need
from volt.base.gate import parse_json, read_json, read_text
from volt.base.schema import optional, rows, table, text, whole
from volt.counting.marks import byte_letters, letter_bytes
from volt.foreign.base import Change, Engine, by_id, library_errors
from volt.foreign.examine import LONGEST_PATTERN
from volt.foreign.huggingface import renumbered_beside
from volt.foreign.inner import Inner, merging
from volt.foreign.json_text import JsonText, dumped, laid_out
from volt.formats.tiktoken import EMPTY, read_ranks, settings_path, special_beside
from volt.tokenizing.schemas import MOST_TOKENS

_RANK = whole(0, MOST_TOKENS - 1)
TEKKEN = table(
    {
        "config": table(
            {"default_vocab_size": _RANK, "pattern": text()},
            {"default_num_special_tokens": _RANK},
        ),
        "vocab": rows(table({"rank": _RANK, "token_bytes": text()}), MOST_TOKENS),
    },
    {"special_tokens": optional(rows(table({"rank": _RANK, "token_str": text()})))},
)


class TikToken(Engine):
    """Runs ranks and a pattern. Special tokens are never found in text (`encode_ordinary`)."""

    def __init__(
        self, name: str, ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int],
        kind: str = "tiktoken", file: Path | None = None, offset: int = 0,
        folder: Path | None = None,
    ) -> None:  # fmt: skip
        self.name, self.kind, self.file, self.offset = name, kind, file, offset
        self.folder = folder
        self.ranks, self.pattern, self.special = dict(ranks), pattern, dict(special)
        self.messages = []
        _examine(name, self.ranks, pattern, self.special)
        library = need("tiktoken", "tiktoken")
        self.library = f"tiktoken {library.__version__}"
        with library_errors(f"{name}: tiktoken does not take it"):  # such as a pattern
            self.encoding = library.Encoding(
                name="volt", pat_str=pattern, mergeable_ranks=self.ranks, special_tokens={}
            )
            self.encoding.encode_ordinary("a 1")
        tokens = ((byte_letters(data) or f"<|unused-{rank + offset}|>", rank + offset)
                  for data, rank in self.ranks.items())  # fmt: skip
        self.names = by_id([*tokens, *self.special.items()])
        without_text = [self.ranks[b""] + offset] if b"" in self.ranks else []
        self.named = frozenset([*self.special.values(), *without_text])
        self.before_word = " "

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        found = self.encoding.encode_ordinary_batch(list(texts), num_threads=2)
        if not self.offset:
            return list(found)
        return [[i + self.offset for i in ids] for ids in found]

    def decode(self, ids: list[int]) -> str:
        plain = self.plain
        data = [plain[i] or (self.names[i] or "").encode() for i in ids]
        return b"".join(data).decode(errors="replace")

    def words(self, text: str) -> list[str]:
        regex = need("regex", "tiktoken")
        return [byte_letters(match[0].encode()) for match in regex.finditer(self.pattern, text)]

    def inner(self) -> Inner:
        ranks = [(byte_letters(data), float(rank)) for data, rank in self.ranks.items() if data]
        return merging(self.names, self.named, ranks=ranks, byte_level=True, whole_words=True)

    def rewrite(self, change: Change) -> dict[str, bytes]:
        if self.kind == "tekken" and self.file is not None:
            return self._rewrite_tekken(change, self.file)
        tokens = [
            (int(change.id_map[rank]), data) for data, rank in self.ranks.items()
            if change.id_map[rank] >= 0
        ]  # fmt: skip
        tokens += [(i, letter_bytes(one.text)) for i, one in enumerate(change.added, change.kept)]
        lines = [f"{base64.b64encode(data).decode() or EMPTY} {rank}\n"
                 for rank, data in sorted(tokens)]  # fmt: skip
        name = self.file.name if self.file is not None else "tokenizer.tiktoken"
        files = {name: "".join(lines).encode()}
        special = {text: change.new_id(i, self.name) for text, i in self.special.items()}
        settings = {"pat_str": self.pattern, "special_tokens": special}
        told = json.dumps(settings, ensure_ascii=False, indent=1) + "\n"
        files[settings_path(Path(name)).name] = told.encode()
        if self.folder is not None:
            files |= renumbered_beside(self.folder, change)
        return files

    def _rewrite_tekken(self, change: Change, file: Path) -> dict[str, bytes]:
        """Ranks count from the number of special tokens on; entries beyond the vocabulary's size,
        which the model does not use, are left out."""
        text = read_text(file)
        source, data = JsonText(text), parse_json(str(file), text)
        used = {*self.ranks.values()}
        kept = [one for one in data["vocab"] if one["rank"] in used
                and change.id_map[one["rank"] + self.offset] >= 0]  # fmt: skip
        entries = [{**one, "rank": int(change.id_map[one["rank"] + self.offset]) - self.offset}
                   for one in kept]  # fmt: skip
        for i, one in enumerate(change.added, change.kept):
            data_of = letter_bytes(one.text)
            shown = data_of.decode(errors="ignore") if b"\xff" not in data_of else None
            entries.append({
                "rank": i - self.offset, "token_bytes": base64.b64encode(data_of).decode(),
                "token_str": shown or None,
            })  # fmt: skip
        spans = {}
        span = source.find(("vocab",))
        assert span is not None  # it was read
        spans[span] = laid_out([dumped(one) for one in entries], source.style(("vocab",)), "[]")
        for key, value in (("default_vocab_size", change.size), ("num_vocab_tokens", len(entries))):
            if (span := source.find(("config", key))) is not None:
                spans[span] = str(value)
        return {file.name: source.with_spans(spans).encode()}


def _examine(
    name: str, ranks: Mapping[bytes, int], pattern: str, special: Mapping[str, int]
) -> None:
    if len(ranks) > MOST_TOKENS or max(ranks.values(), default=0) >= MOST_TOKENS:
        raise InputError(f"{name}: more than {MOST_TOKENS:,} ranks")
    if len(set(ranks.values())) < len(ranks):
        raise InputError(f"{name}: two tokens have the same rank")
    if missing := [byte for byte in range(256) if bytes([byte]) not in ranks]:
        raise InputError(f"{name}: the byte {missing[0]} is not a token")
    if len(pattern) > LONGEST_PATTERN:
        raise InputError(f"{name}: a pattern of more than {LONGEST_PATTERN:,} characters")
    if any(not 0 <= number < MOST_TOKENS for number in special.values()):
        raise InputError(f"{name}: a special token has no id below {MOST_TOKENS:,}")


def open_ranks(path: Path, pattern: str | None, is_alone: bool = True) -> TikToken:
    """A ranks file; with the files beside it, if it is that of a model's folder."""
    found = read_ranks(path, pattern)
    added = special_beside(path.parent, found.ranks)
    alone = is_alone and path.name != "tokenizer.model" and not added
    engine = TikToken(
        str(path), found.ranks, found.pattern, found.special, file=path,
        folder=None if alone else path.parent,
    )  # fmt: skip
    engine.messages += found.messages
    return engine


def open_tekken(path: Path) -> TikToken:
    """Mistral's tekken.json: special tokens first, then as many ranks as the vocabulary has."""
    data: Any = read_json(path, TEKKEN)
    config = data["config"]
    number = config.get("default_num_special_tokens", 1000)
    entries = data["vocab"][: max(0, config["default_vocab_size"] - number)]
    try:
        ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in entries}
    except ValueError as error:
        raise InputError(f"{path}: vocab: token_bytes: {error}") from None
    pattern = config["pattern"]
    names = {one["rank"]: one["token_str"] for one in data.get("special_tokens") or []}
    if sorted(ranks.values()) != list(range(len(ranks))):
        raise InputError(f"{path}: vocab: the ranks are not 0, 1, 2, ...")
    special = {names.get(i, f"<SPECIAL_{i}>"): i for i in range(number)}
    return TikToken(str(path), ranks, pattern, special, "tekken", path, offset=number)
