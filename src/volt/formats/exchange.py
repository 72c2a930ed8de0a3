"""Export and import: a vocabulary to another toolkit's files, and back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from volt.base.arguments import names_arguments
from volt.base.checks import canonical, check_choice
from volt.base.errors import SettingsError
from volt.base.gate import named
from volt.base.options import accepts
from volt.base.output import atomic_files, claim
from volt.base.shown import plural
from volt.counting.count import count
from volt.counting.counts import WordCounts
from volt.counting.inputs import Text
from volt.formats.assembly import assemble
from volt.formats.base import Format
from volt.formats.detect import FILE_KINDS, detect, identify
from volt.formats.huggingface.classes import LEADING_SPACE
from volt.formats.huggingface.folder import (
    GENERATION,
    generation_left_out,
    leading_space,
    read_roles,
)
from volt.formats.merges import (
    Check,
    check_delayed,
    check_rule,
    delayed_tokens,
    differing_tokens,
    tally,
)
from volt.formats.patterns import CLIP, full_name
from volt.formats.registry import FORMATS
from volt.settings.roles import UseSettings
from volt.tokenizing.roles import taken_places, with_roles
from volt.tokenizing.vocabulary import Vocabulary
from volt.tokenizing.volt_json import no_garbage

IMPORTED = "|from:"
"""In the signature of what was read from another toolkit."""


@dataclass(frozen=True)
class ExportResult:
    """What was written, and what there is to know about it."""

    files: list[Path]
    messages: list[str] = field(default_factory=list)
    check: Check | None = None
    """Words of the given text that the toolkit encodes differently. None without a text, or if the
    format has no merges."""

    def summary(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "files": [str(file) for file in self.files],
            "messages": self.messages,
            "check": None if self.check is None else asdict(self.check),
        }


def check_target(to: str) -> None:
    """Refuse what is not a format to write."""
    if to.lower() in ("gguf", "llama.cpp"):
        raise SettingsError(
            f"`to`: no {to}; for llama.cpp `to='hf'`, then its convert_hf_to_gguf.py"
        )
    check_choice("to", to, FORMATS)


@accepts(UseSettings, gone={"output": "is `path` in Python."})
def export(
    vocabulary: Vocabulary,
    to: str,
    path: str | os.PathLike[str],
    *,
    check: WordCounts | Text | Iterable[Text] | None = None,
    force: bool = False,
    inputs: Sequence[str | os.PathLike[str]] = (),
    **roles: Any,
) -> ExportResult:
    """Write a vocabulary in the format of another toolkit; `FORMATS` has the names.

    If the toolkit may merge differently from the vocabulary, the words of the text `check` are
    encoded both ways, and the result says how many differ. Files that exist are replaced only with
    `force`, and never if they are among `inputs`, which the vocabulary was read from. All files are
    written, or none. Roles of special tokens that are named here replace those of the vocabulary; a
    name that is not a special token yet takes a place that `reserve` left.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = volt.export(tokenizer.vocabulary, "hf", f"{folder}/hf")
    >>> [file.name for file in found.files][:2]
    ['tokenizer.json', 'tokenizer_config.json']
    """
    to = canonical(to, FORMATS)
    check_target(to)
    form = FORMATS[to]
    learned, vocabulary = vocabulary, with_roles(vocabulary, UseSettings(**roles))
    if reason := form.refuse(vocabulary, checked=check is not None):
        raise SettingsError(reason)
    files = form.write(vocabulary, Path(path))
    claim(*files, inputs=[*inputs, check], force=force, parents=True)
    counts = None
    if check is not None and form.merge_rule is not None:
        rule = vocabulary.rule
        counts = (
            check if isinstance(check, WordCounts)
            else count(
                check, pretokenizer=rule.pretokenizer, normalize=rule.normalize, unit=rule.reads
            )
        )  # fmt: skip
    messages, found = _differences(vocabulary, form, counts)
    with atomic_files(*files, parents=True) as streams:
        for stream, data in zip(streams, files.values(), strict=True):
            stream.write(data)
    messages += [*form.notes(vocabulary), *taken_places(learned, vocabulary)]
    if IMPORTED in vocabulary.signature and any(file.name == GENERATION for file in files):
        messages.append(
            f"warning: {GENERATION} is made from the special tokens; the model that the vocabulary "
            "was imported from may say more, such as several ids that end a text: keep its own"
        )
    if to == "hf" and f"{IMPORTED}sentencepiece" in vocabulary.signature:
        messages += _unlike_sentencepiece(vocabulary)
    return ExportResult(list(files), messages, found)


def _unlike_sentencepiece(vocabulary: Vocabulary) -> list[str]:
    """Where a `tokenizer.json` and its users do not do what the model did."""
    names = vocabulary.of_kind("special")
    messages = [] if not names else [
        f"names of special tokens in text, such as {names[0]!r}, are these tokens to tokenizers, "
        "and plain text to SentencePiece: verify, with the model, counts texts that have them as "
        "different"
    ]  # fmt: skip
    if vocabulary.space_first and vocabulary.normalizer is None and vocabulary.look_up is None:
        said = LEADING_SPACE.format(kind="the LlamaTokenizer it makes of a tokenizer.model")
        messages.append(f"the ids are SentencePiece's; {said}")
    return messages


def _differences(
    vocabulary: Vocabulary, form: Format, counts: WordCounts | None
) -> tuple[list[str], Check | None]:
    """Where the toolkit merges differently from volt (METHOD 7)."""
    messages: list[str] = []
    found = None if counts is None else tally(counts, [])  # by the same rule none differs
    if form.differs(vocabulary) and counts is not None:
        found = check_rule(vocabulary, counts, "concat")
        if other := differing_tokens(vocabulary):
            messages.append(f"{form.merges_differently(other)}; {found} are encoded differently")
    listed = form.merge_rule == "pairs" and vocabulary.look_up is None
    pairs = listed and vocabulary.merge_rule == "concat" and form.one_pair_at_a_time
    if pairs and (other := delayed_tokens(vocabulary)):
        if counts is not None:
            found = check_delayed(vocabulary, counts)
        messages.append(
            f"{form.toolkit} may merge {plural(len(other), 'token')}, such as {other[0]!r}, too "
            "early" + ("; use `check` to count how often" if found is None else f"; {found} differ")
        )
    return messages, found


@names_arguments
def import_vocabulary(
    path: str | os.PathLike[str], form: str | None = None, pattern: str | None = None
) -> tuple[Vocabulary, list[str]]:
    """Read another toolkit's file; returns the vocabulary, and what to know about it.

    `form` names the format; without it, the content decides. `pattern` is how text is cut, for
    files that do not say it: the name of a byte-level pre-tokenizer, or a regular expression. The
    file is not trusted.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = volt.export(tokenizer.vocabulary, "hf", f"{folder}/hf")
    ...     vocabulary, messages = volt.import_vocabulary(f"{folder}/hf")
    >>> vocabulary.texts == tokenizer.tokens
    True
    """
    file = named(path)
    form = canonical(form, FORMATS) if form else detect(file)
    if form in FILE_KINDS and FILE_KINDS[form].by_engine:
        check_pattern(pattern, [path], form)
        return _import_by_engine(file, form, pattern)
    check_choice("form", form, FORMATS)
    if pattern is not None and not FORMATS[form].needs_pattern:
        raise SettingsError(f"`pattern`: a {form} file says itself how text is cut")
    given = {"pattern": pattern} if FORMATS[form].needs_pattern else {}
    with no_garbage():
        parsed = FORMATS[form].read(_file_of(file, form), **given)
        if form == "sentencepiece" and file.is_dir():
            read_roles(parsed, None, file)
            keeps_spaces = parsed.space_first and parsed.normalizer is None
            parsed.messages += leading_space(file) if keeps_spaces else []
        vocabulary = assemble(parsed)
    if FORMATS[form].merge_rule is None:
        parsed.messages.append("the list has no merges: any two tokens that make a token do")
    if file.is_dir():
        parsed.messages += generation_left_out(vocabulary, file)
    return vocabulary, parsed.messages


def _file_of(path: Path, form: str) -> Path:
    """The file of a folder that has the format, for those that are one file."""
    if form in ("hf", "gpt2") or not path.is_dir():
        return path
    found = identify(path)
    return found.file if FILE_KINDS[found.kind].form == form else path


def check_pattern(
    pattern: str | None, places: Iterable[str | os.PathLike[str]], form: str | None = None
) -> None:
    """Refuse a pattern that is none, and one that no file would be cut by: all say it themselves.
    What can't be read is left to who reads it."""
    if pattern is None:
        return
    if pattern != CLIP:
        full_name(pattern)
    said = ""
    for place in places:
        kind = form or identify(named(place)).kind
        if kind not in FILE_KINDS:  # a format registered by others
            return
        if FILE_KINDS[kind].needs_pattern:
            return
        said = said or f"{place}: {FILE_KINDS[kind].said} says itself how it cuts text"
    raise SettingsError(f"{said}: leave `pattern` out")


def _import_by_engine(path: Path, form: str, pattern: str | None) -> tuple[Vocabulary, list[str]]:
    """A file of which its engine makes something else first, a tokenizer.json for example."""
    from volt.foreign.engine_choice import native_vocabulary, open_engine

    engine = open_engine(path, form=form, pattern=pattern, native=False).engine
    vocabulary = native_vocabulary(engine)
    assert vocabulary is not None  # these kinds have one
    return vocabulary, [FILE_KINDS[form].said, *engine.messages]
