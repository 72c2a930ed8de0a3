"""How the tokenizers of `transformers` cut text, for files that do not say it: vocab.json with
merges.txt, and BERT's vocab.txt. tokenizer_config.json names the class; nothing is guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from volt.base.errors import InputError, SettingsError
from volt.counting.words import GPT2, PRETOKENIZERS
from volt.foreign.base import Change
from volt.foreign.huggingface import CONFIG, HuggingFace, kept_merges, renumbered_beside
from volt.foreign.json_text import JsonText, dumped, laid_out
from volt.formats.detect import PAIRS
from volt.formats.files import read_bytes, read_json, read_lines
from volt.formats.huggingface.parts import BYTE_LEVEL, BYTES, split_part

GPT2_CLASSES = ("GPT2", "Roberta", "Bart", "Longformer", "LED", "Blenderbot", "Whisper", "CodeGen",
                "GPTNeoX", "Deberta", "OPT", "MVP")  # fmt: skip
CLIP_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
FIRST_ADDED = ("<|endoftext|>", "<|startoftext|>")

Data = dict[str, Any]


def open_pair(folder: Path, pattern: str | None) -> HuggingFace:
    """vocab.json and merges.txt, or encoder.json and vocab.bpe."""
    names = next((pair for pair in PAIRS if all((folder / one).exists() for one in pair)), None)
    if names is None:
        raise InputError(
            f"{folder}: vocab.json and merges.txt (or encoder.json and vocab.bpe) belong together, "
            "and one is missing"
        )
    vocab = read_json(folder / names[0])
    if not isinstance(vocab, dict) or not all(type(i) is int for i in vocab.values()):
        raise InputError(f"{folder / names[0]}: no table of tokens and ids")
    lines = read_lines(folder / names[1])
    merges = [line for number, line in enumerate(lines)
              if line and not (number == 0 and line.startswith("#version"))]  # fmt: skip
    for line in merges:
        if len(line.split(" ")) != 2:
            raise InputError(f"{folder / names[1]}: {line[:60]!r} is not a pair of tokens")
    config = _config(folder)
    parts, said = _parts(folder, names, config, pattern)
    model = {"type": "BPE", "vocab": vocab, "merges": merges, **parts.pop("model", {})}
    unknown = model.get("unk_token")
    if unknown is not None and unknown not in vocab:
        model["unk_token"] = None
    data = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": _added(vocab, folder, config), "normalizer": None, "pre_tokenizer": None,
        "post_processor": None, "decoder": BYTE_LEVEL, **parts, "model": model,
    }  # fmt: skip
    engine = Pair(str(folder), json.dumps(data, ensure_ascii=False), folder, names)
    engine.pattern = pattern
    engine.messages.append(said)
    return engine


def _config(folder: Path) -> Data:
    if not (folder / CONFIG).exists():
        return {}
    found = read_json(folder / CONFIG)
    return found if isinstance(found, dict) else {}


def _parts(
    folder: Path, names: tuple[str, str], config: Data, pattern: str | None
) -> tuple[Data, str]:
    """Normalizer, pre-tokenizer and model settings, and who says so."""
    if pattern == GPT2:
        return {"pre_tokenizer": BYTE_LEVEL}, "the pattern is GPT-2's, as given"
    if pattern is not None:
        split = {"type": "Sequence", "pretokenizers": [split_part(pattern), BYTES]}
        return {"pre_tokenizer": split}, "the pattern is the one given"
    if names[0] == "encoder.json":
        return {"pre_tokenizer": BYTE_LEVEL}, "encoder.json and vocab.bpe: GPT-2's pattern"
    named = str(config.get("tokenizer_class", ""))
    kind = named.removesuffix("Fast").removesuffix("Tokenizer")
    said = f"{CONFIG} names {named}"
    prefix = bool(config.get("add_prefix_space", False))
    if kind in GPT2_CLASSES:
        return {"pre_tokenizer": {**BYTE_LEVEL, "add_prefix_space": prefix}}, said
    if kind in ("Qwen2", "Qwen3"):
        split = split_part(PRETOKENIZERS["byte-level:qwen2"].pattern or "")
        steps = {"type": "Sequence", "pretokenizers": [split, BYTES]}
        return {"normalizer": {"type": "NFC"}, "pre_tokenizer": steps}, said
    if kind == "CLIP":
        return _clip(), said
    raise SettingsError(
        f"{folder}: vocab.json and merges.txt do not say how text is cut, and "
        + (f"{CONFIG} names {named!r}, which volt does not know" if named
           else f"there is no {CONFIG} that names the tokenizer's class")
        + "; name it with `pattern`: one of "
        + ", ".join(name for name, mode in PRETOKENIZERS.items() if mode.byte_level)
        + ", or a regular expression"
    )  # fmt: skip


def _clip() -> Data:
    steps = [
        {"type": "NFC"},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
        {"type": "Lowercase"},
    ]
    cuts = [
        {"type": "Split", "pattern": {"Regex": CLIP_PATTERN}, "behavior": "Removed",
         "invert": True},
        {**BYTE_LEVEL, "add_prefix_space": False, "use_regex": True},
    ]  # fmt: skip
    return {
        "normalizer": {"type": "Sequence", "normalizers": steps},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cuts},
        "model": {"unk_token": "<|endoftext|>", "continuing_subword_prefix": "",
                  "end_of_word_suffix": "</w>", "fuse_unk": False},
    }  # fmt: skip


def _added(vocab: Data, folder: Path, config: Data) -> list[Data]:
    """The tokens that tokenizer_config.json and special_tokens_map.json name, if they are tokens.
    Those of added_tokens_decoder are added with their flags when the engine opens."""
    tables = [config]
    beside = folder / "special_tokens_map.json"
    if beside.exists() and isinstance(found := read_json(beside), dict):
        tables.append(found)
    contents: list[str] = []
    for table in tables:
        for key, value in table.items():
            name = value.get("content") if isinstance(value, dict) else value
            if key.endswith("_token") and isinstance(name, str):
                contents.append(name)
    contents += [name for name in FIRST_ADDED if name in vocab]
    decoder = config.get("added_tokens_decoder")
    listed = {one.get("content") for one in decoder.values() if isinstance(one, dict)} if (
        isinstance(decoder, dict)) else set()  # fmt: skip
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return [{"id": vocab[name], "content": name, **flags, "special": True}
            for name in dict.fromkeys(contents) if name in vocab.keys() - listed]  # fmt: skip


class Pair(HuggingFace):
    """GPT-2's two files."""

    def __init__(self, name: str, text: str, folder: Path, names: tuple[str, str]) -> None:
        super().__init__(name, text, "gpt2", folder)
        self.files = names
        self.pattern: str | None = None

    def rewrite(self, change: Change) -> dict[str, bytes]:
        assert self.folder is not None
        source = JsonText(read_bytes(self.folder / self.files[0]).decode())
        vocab = self.data["model"]["vocab"]
        kept = sorted((int(change.id_map[i]), name) for name, i in vocab.items()
                      if change.id_map[i] >= 0)  # fmt: skip
        members = [f"{dumped(name)}: {number}" for number, name in kept]
        members += [f"{dumped(one.text)}: {i}" for i, one in enumerate(change.added, change.kept)]
        span = source.find(())
        assert span is not None
        text = source.with_spans({span: laid_out(members, source.style(()), "{}")})
        names: list[str | None] = [name for _, name in kept]
        lines = read_lines(self.folder / self.files[1])
        head = [line for line in lines[:1] if line.startswith("#version")]
        merges = kept_merges(self.data["model"]["merges"], names, change)
        body = "".join(f"{line}\n" for line in [*head, *merges])
        return {
            self.files[0]: text.encode(),
            self.files[1]: body.encode(),
            **renumbered_beside(self.folder, change),
        }


# --------------------------------------------------------------------------------------------- BERT


class Bert(HuggingFace):
    """BERT's vocab.txt: a token per line."""

    def __init__(self, file: Path) -> None:
        tokens = read_lines(file)
        config = _config(file.parent)
        vocab = {token: number for number, token in enumerate(tokens)}
        if "[UNK]" not in vocab:
            raise InputError(f"{file}: no [UNK] among the tokens")
        lower = config.get("do_lower_case")
        said = f"{CONFIG} says do_lower_case={lower}"
        if not isinstance(lower, bool):
            lower = all(token == token.lower() for token in tokens if not token.startswith("["))
            said = "no token has a capital letter: text is lowercased" if lower else (
                "tokens have capital letters: text is not lowercased")  # fmt: skip
        normalizer = {
            "type": "BertNormalizer", "clean_text": True,
            "handle_chinese_chars": config.get("tokenize_chinese_chars", True) is not False,
            "strip_accents": config.get("strip_accents"), "lowercase": lower,
        }  # fmt: skip
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        special = [name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if name in vocab]
        data = {
            "version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": vocab[name], "content": name, **flags, "special": True}
                             for name in special],
            "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": None,
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": vocab},
        }  # fmt: skip
        super().__init__(str(file), json.dumps(data, ensure_ascii=False), "bert", file.parent)
        self.file = file
        self.messages.append(said)

    def rewrite(self, change: Change) -> dict[str, bytes]:
        if len(self.names) > len(self.data["model"]["vocab"]):
            raise SettingsError(f"{self.name}: tokens were added after vocab.txt; it can't grow")
        kept = sorted((int(new), self.names[old] or "") for old, new in enumerate(change.id_map)
                      if new >= 0)  # fmt: skip
        lines = [*(name for _, name in kept), *(one.text for one in change.added)]
        files = {self.file.name: "".join(f"{line}\n" for line in lines).encode()}
        return files | renumbered_beside(self.file.parent, change)
