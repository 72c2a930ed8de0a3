"""GPT-2's two files, BERT's vocab.txt and CLIP's merges, run by Hugging Face's `tokenizers`."""

from __future__ import annotations

import json
from pathlib import Path

from volt.base.errors import InputError, SettingsError
from volt.base.gate import decoded, inflated, read_lines, read_text
from volt.counting.marks import BYTE_LETTERS
from volt.foreign.base import Change
from volt.foreign.huggingface import (
    HuggingFace,
    kept_merges,
    renumbered_beside,
    rewritten_table,
)
from volt.formats.gpt2 import clip_parts, pair_data
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.folder import PLAIN_NAME, settings_of
from volt.formats.huggingface.parts import bert_parts, whole_file
from volt.formats.patterns import CLIP


def open_pair(folder: Path, pattern: str | None) -> HuggingFace:
    """vocab.json and merges.txt, or encoder.json and vocab.bpe."""
    found = pair_data(folder, pattern)
    engine = PairFiles(str(folder), json.dumps(found.data, ensure_ascii=False), folder, found.names)
    engine.pattern = pattern
    engine.messages.append(found.said)
    return engine


class PairFiles(HuggingFace):
    """GPT-2's two files."""

    def __init__(self, name: str, text: str, folder: Path, names: tuple[str, str]) -> None:
        super().__init__(name, text, "gpt2", folder)
        self.files = names
        self.pattern: str | None = None

    def rewrite(self, change: Change) -> dict[str, bytes]:
        assert self.folder is not None
        vocab = self.data["model"]["vocab"]
        text = rewritten_table(read_text(self.folder / self.files[0]), vocab, change)
        names = [name for name, i in vocab.items() if change.id_map[i] >= 0]
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


class BertVocabulary(HuggingFace):
    """BERT's vocab.txt: a token per line."""

    def __init__(self, file: Path) -> None:
        tokens = read_lines(file)
        config = settings_of(file.parent, CONFIG)
        vocab = {token: number for number, token in enumerate(tokens)}
        if "[UNK]" not in vocab:
            raise InputError(f"{file}: no [UNK] among the tokens")
        lower = config.get("do_lower_case")
        said = f"{CONFIG} says do_lower_case={lower}"
        if not isinstance(lower, bool):
            lower = all(token == token.lower() for token in tokens if not token.startswith("["))
            said = "no token has a capital letter: text is lowercased" if lower else (
                "tokens have capital letters: text is not lowercased")  # fmt: skip
        chinese = config.get("tokenize_chinese_chars", True) is not False
        accents = config.get("strip_accents")
        parts = bert_parts(
            vocab, handle_chinese_chars=chinese, strip_accents=accents, lowercase=lower
        )
        special = [name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if name in vocab]
        added = [{"id": vocab[name], "content": name, **PLAIN_NAME, "special": True}
                 for name in special]  # fmt: skip
        data = whole_file(added, **parts)
        super().__init__(str(file), json.dumps(data, ensure_ascii=False), "bert", file.parent)
        self.file = file
        self.messages.append(said)

    def rewrite(self, change: Change) -> dict[str, bytes]:
        listed = len(self.data["model"]["vocab"])
        if change.added and len(self.names) > listed:
            raise SettingsError(
                f"{self.name}: tokens were added after its {listed:,} lines, in files beside it: "
                "new lines would take their ids. Extend a tokenizer.json instead, which "
                "transformers writes: AutoTokenizer.from_pretrained(folder).save_pretrained(new)"
            )
        kept = sorted((int(new), self.names[old] or "")
                      for old, new in enumerate(change.id_map[:listed]) if new >= 0)  # fmt: skip
        lines = [*(name for _, name in kept), *(one.text for one in change.added)]
        files = {self.file.name: "".join(f"{line}\n" for line in lines).encode()}
        return files | renumbered_beside(self.file.parent, change)


# --------------------------------------------------------------------------------------------- CLIP

FIRST_BYTES = (*range(33, 127), *range(161, 173), *range(174, 256))
"""The bytes that are their own letters, whose tokens come first."""
LISTED = 49152 - 256 - 2
"""Merges that CLIP uses. The file has more."""
AROUND = ("<|startoftext|>", "<|endoftext|>")


def open_clip(file: Path, pattern: str | None) -> HuggingFace:
    """bpe_simple_vocab_16e6.txt.gz. The ids are places: letters, letters at the end of a word, the
    first merges, two names. How text is cleaned and cut is in CLIP's code, so it is asked for."""
    if pattern != CLIP:
        found = "nothing tells" if pattern is None else f"{pattern!r} is another way"
        raise SettingsError(
            f"{file}: CLIP's merges do not say how text is cleaned and cut, and {found}; "
            "`pattern` clip is what transformers' CLIPTokenizer does (NFC, white space as one "
            "space, lower case; OpenAI's code repairs text with ftfy and html.unescape before); or "
            "name a tokenizer.json of the model"
        )
    listed = decoded(file, inflated(file)).split("\n")[1 : LISTED + 1]
    pairs = [tuple(line.split()) for line in listed if line]
    for number, pair in enumerate(pairs, 2):
        if len(pair) != 2:
            raise InputError(f"{file}, line {number}: two tokens expected, found {len(pair)}")
    order = [*FIRST_BYTES, *sorted({*range(256)} - {*FIRST_BYTES})]
    letters = [chr(BYTE_LETTERS[byte]) for byte in order]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters), *map("".join, pairs), *AROUND]
    vocab = {token: number for number, token in enumerate(tokens)}
    first, last = ([name, vocab[name]] for name in AROUND)
    parts = clip_parts()
    model = {"type": "BPE", "vocab": vocab, "merges": [*map(" ".join, pairs)], **parts["model"]}
    around = {"type": "RobertaProcessing", "sep": last, "cls": first, "trim_offsets": False,
              "add_prefix_space": False}  # fmt: skip
    added = [{"id": vocab[name], "content": name, **PLAIN_NAME, "special": True}
             for name in AROUND]  # fmt: skip
    data = whole_file(added, **parts | {"model": model, "post_processor": around})
    engine = HuggingFace(str(file), json.dumps(data, ensure_ascii=False), "clip")
    engine.messages.append("text is cleaned as transformers' CLIPTokenizer does, without ftfy")
    return engine
