"""Original: a tokenizer that exists, and the file it was read from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError, SettingsError
from volt.formats import FORMATS, detect, export, import_vocabulary
from volt.formats.huggingface import rewritten
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

AnyTokenizer = str | os.PathLike[str] | Vocabulary | Tokenizer


@dataclass(frozen=True, eq=False)
class Original:
    """A tokenizer that exists. Its format is one of `volt.formats.FORMATS`, or None for a
    vocabulary of volt."""

    vocabulary: Vocabulary
    path: Path | None = None
    form: str | None = None
    messages: list[str] = field(default_factory=list)

    def files(self, vocabulary: Vocabulary, id_map: NDArray[np.int64], folder: Path) -> list[str]:
        """Write the new vocabulary in the format of the original; returns notes on the files."""
        if self.form is None or self.path is None:
            return []
        if self.form == "hf":
            for name, data in rewritten(self.path, vocabulary, id_map).items():
                (folder / name).write_bytes(data)
            return []
        name = self.path.name if self.path.is_file() and self.form != "gpt2" else ""
        return export(vocabulary, self.form, folder / name).messages


def read_tokenizer(
    tokenizer: AnyTokenizer, form: str | None = None, *, lists: bool = False
) -> Original:
    """Read a vocabulary of volt, or any file or folder that `volt import` reads. `lists`: also one
    that only lists tokens, without saying how text is cut into them."""
    if isinstance(tokenizer, Vocabulary):
        return Original(tokenizer)
    if isinstance(tokenizer, Tokenizer):
        return Original(tokenizer.vocabulary)
    path = Path(tokenizer)
    if not path.exists():
        raise InputError(f"no such file or folder: {path}")
    if form is None and (path.name == "volt.json" or (path / "volt.json").exists()):
        return Original(load_vocabulary(path))
    form = form or detect(path)
    if not lists and FORMATS[form].merge_rule is None:
        raise SettingsError(
            f"{path}: a list of tokens (format {form}), without how text is cut into them; name "
            "the tokenizer's own file"
        )
    vocabulary, messages = import_vocabulary(path, form)
    return Original(vocabulary, path, form, messages)
