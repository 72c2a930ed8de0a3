"""Original: a tokenizer that exists, and the file it was read from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from volt.base.errors import SettingsError
from volt.base.gate import named, read_lines
from volt.foreign.base import Change, Engine
from volt.foreign.engine_choice import NO_LIBRARY, open_engine
from volt.foreign.huggingface import GENERATION, renumbered_beside, renumbered_ids
from volt.foreign.volt_engine import Native
from volt.formats import FORMATS, detect, export, import_vocabulary
from volt.formats.assembly import looks_like_text
from volt.formats.detect import identify
from volt.formats.huggingface.classes import CONFIG
from volt.formats.huggingface.folder import config
from volt.formats.huggingface.write import as_json
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

OF_TRANSFORMERS = ("sentencepiece", "gpt2", "bert")
"""Kinds of files that transformers reads as the settings beside them say."""
AnyTokenizer = str | os.PathLike[str] | Vocabulary | Tokenizer


@dataclass(frozen=True, eq=False)
class Original:
    """A tokenizer that exists. Its format is one of `volt.formats.FORMATS`, or None for a
    vocabulary of volt and for files that volt can't convert."""

    vocabulary: Vocabulary
    path: Path | None = None
    form: str | None = None
    messages: list[str] = field(default_factory=list)
    engine: Engine | None = None
    """The tokenizer's own library, which rewrites its file."""
    exact: bool = True
    """Does volt encode text as the tokenizer does? If not, the vocabulary is that of the model
    inside, over the words that the engine makes."""

    @property
    def added(self) -> frozenset[int]:
        """Added tokens that are ordinary tokens to volt. The file names them, so they stay."""
        if self.engine is None:
            return frozenset()
        tokens = self.vocabulary.tokens
        return frozenset(i for i in self.engine.named if tokens[i].kind in ("merged", "piece"))

    @property
    def idle(self) -> list[str]:
        """Tokens of text that are not merged from a pair, though the file may list one."""
        if self.engine is None:
            return []
        other = {*self.engine.named, *self.engine.byte_ids, self.engine.unknown_id}
        return [name for i, name in enumerate(self.engine.names) if name and i not in other
                and self.vocabulary.tokens[i].kind in ("special", "symbol", "piece")]  # fmt: skip

    def files(self, vocabulary: Vocabulary, change: Change, folder: Path) -> list[str]:
        """Write the new vocabulary in the format of the original; returns notes on the files."""
        if self.engine is not None:
            for name, data in self.rewritten(vocabulary, change).items():
                (folder / name).write_bytes(data)
            return change.notes
        if self.form is None or self.path is None:
            return []
        name = self.path.name if self.path.is_file() and self.form != "gpt2" else ""
        return export(vocabulary, self.form, folder / name).messages

    def rewritten(self, vocabulary: Vocabulary, change: Change) -> dict[str, bytes]:
        """The files of the engine, and the settings of its folder that name tokens by ids. A lone
        tokenizer.json gets settings for `transformers`."""
        assert self.engine is not None
        files = self.engine.rewrite(change)
        if self.path is not None and GENERATION not in files:
            settings_of_model = self.path / GENERATION
            if settings_of_model.exists():
                files[GENERATION] = renumbered_ids(settings_of_model, change)
        if "tokenizer.json" in files and CONFIG not in files:
            settings = {"tokenizer_class": "PreTrainedTokenizerFast"}
            files[CONFIG] = as_json(config(vocabulary) if self.exact else settings)
        return files

    def model_files(self, vocabulary: Vocabulary, change: Change, model: Path) -> dict[str, bytes]:
        """The rewritten files, for the folder of the model that was in `model`; none where volt
        has to write a tokenizer.json, because nothing says how transformers reads the files."""
        if self.engine is None or self.path is None:
            return {}
        files = self.rewritten(vocabulary, change)
        if self.form == "hf" or not self.exact:
            return files
        is_own = self.folder.resolve() == model.resolve()
        if is_own and self.form == "sentencepiece":  # it may be named by itself
            files = {**renumbered_beside(model, change), **files}
        has_settings = CONFIG in files and (is_own or not (model / CONFIG).exists())
        return files if has_settings and self.form in OF_TRANSFORMERS else {}

    @property
    def folder(self) -> Path:
        """Where its files are."""
        assert self.path is not None
        return self.path if self.path.is_dir() else self.path.parent

    def changed(self, change: Change) -> Engine:
        """The engine that runs the rewritten files."""
        assert self.engine is not None
        files = self.engine.rewrite(change)
        with tempfile.TemporaryDirectory() as folder:
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            pattern = getattr(self.engine, "pattern", None)
            place = Path(folder) / next(iter(files))
            return open_engine(place, pattern=pattern, native=False).engine


def open_original(
    tokenizer: AnyTokenizer,
    form: str | None = None,
    pattern: str | None = None,
    texts: Callable[[], Sequence[str]] = list,
) -> Original:
    """A tokenizer of any toolkit, to be refitted or extended. `texts` are asked for if there are
    two encoders to compare on them."""
    if isinstance(tokenizer, (Vocabulary, Tokenizer)):
        return read_tokenizer(tokenizer)
    path = named(tokenizer)
    kind = form if form and path.exists() else identify(path).kind
    if kind == "volt" or kind in NO_LIBRARY:
        return read_tokenizer(path, form)
    opened = open_engine(path, form=form, pattern=pattern, texts=texts())
    engine = opened.engine
    if isinstance(engine, Native):
        return Original(engine.vocabulary, path, kind, opened.messages, engine.behind)
    return Original(engine.inner().vocabulary, path, kind, opened.messages, engine, exact=False)


def read_tokenizer(
    tokenizer: AnyTokenizer, form: str | None = None, *, lists: bool = False
) -> Original:
    """Read a vocabulary of volt, or any file or folder that `volt import` reads. `lists`: also one
    that only lists tokens, without saying how text is cut into them."""
    if isinstance(tokenizer, Vocabulary):
        return Original(tokenizer)
    if isinstance(tokenizer, Tokenizer):
        return Original(tokenizer.vocabulary)
    path = named(tokenizer)
    if form is None and (path.name == "volt.json" or (path / "volt.json").exists()):
        return Original(load_vocabulary(path))
    form = form if form and path.exists() else detect(path)
    if not lists and FORMATS[form].merge_rule is None:
        if form == "text" and looks_like_text(read_lines(path)):
            raise SettingsError(f"{path}: this looks like text, not a tokenizer; `on` is for text")
        raise SettingsError(
            f"{path}: a list of tokens (format {form}), without how text is cut into them; name "
            "the tokenizer's own file"
        )
    vocabulary, messages = import_vocabulary(path, form)
    return Original(vocabulary, path, form, messages)
