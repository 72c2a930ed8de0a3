"""volt encode: text to tokens or ids, line by line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, cast, get_args

import volt
from volt.base.errors import SettingsError
from volt.base.options import Settings, one_of, option, text
from volt.base.shown import plural
from volt.cli.arguments import File, Folder, ModelOption, QuietRun, Spark, Stdin
from volt.cli.command import Given, command
from volt.cli.console import progress_for, refuse, say
from volt.settings import EncodeSettings, TextForm

NOT_WITH_SPARK = (
    "form", "unit", "document_eos", "resume", "dropout", "seed", "on_invalid", "threads",
    "force", "glob", "input_format",
)  # fmt: skip


TEXT_FORMS = get_args(TextForm)
OFFSETS = ": where the ids of each text begin, and where the last ends"
TABLE = ": bytes of text per token, the same for all files of this vocabulary"


def forms() -> tuple[str, ...]:
    """What ids may be written as."""
    from volt.tokenizing.training_files import TRAINING_FORMS

    return (*TEXT_FORMS, *TRAINING_FORMS)


@dataclass(frozen=True, kw_only=True)
class IdForm(Settings, group="Output"):
    form: str = option(
        "tokens", "How ids are written; npy has 32 bits per id, other token files 16 where ids fit",
        one_of(forms), flag="as",
    )  # fmt: skip
    document_eos: bool = option(True, "Token files except npy: put eos after every document.")
    resume: bool = option(
        False, "Token files: keep what is done if the run is stopped, and go on with it."
    )


@dataclass(frozen=True, kw_only=True)
class SparkColumns(Spark, group="Output"):
    column: str | None = option(
        None, "Spark: the new column of ids.", text("NAME"), default_words="ids"
    )


@command("volt encode -m out test.txt -o test.tok")
def encode(
    model: ModelOption,
    inputs: Stdin,
    settings: EncodeSettings,
    spark: SparkColumns,
    form: IdForm,
    target: File,
    run: QuietRun,
    given: Given,
) -> None:
    """Encode text with a vocabulary, line by line or into token files for training; with Spark, add
    a column of ids to Parquet."""
    if spark.engine == "spark":
        refuse(given, NOT_WITH_SPARK, "--engine spark")
        if target.output is None or "files" not in given:
            raise SettingsError("Spark reads and writes Parquet: name inputs, and a folder with -o")
        if "://" not in target.output:
            Folder(output=target.output).claim(inputs.files, model.file)
        _with_spark(model.load(1), inputs, settings, spark, target.output)
        return
    refuse(given, ("master", "column"), "--engine local")
    if form.form in TEXT_FORMS:
        refuse(given, ("document_eos", "resume"), f"--as {form.form}")
    elif target.output is None:
        raise SettingsError(f"--as {form.form} writes several files: name the first with -o")
    if not form.resume:  # then what is there may be what to go on with
        target.claim(inputs.files, model.file)
    tokenizer = model.load(run.threads)
    options = {**vars(settings), "progress": progress_for(run.quiet)}
    if form.form in TEXT_FORMS:
        lines = _write_text(tokenizer, inputs, options, cast(TextForm, form.form), target)
        if target.output:
            files = len(inputs.files)
            said = f" of {plural(files, 'file')}, one after the other" if files > 1 else ""
            say(run.quiet, f"wrote {target.output}: {plural(lines, 'line')}{said}")
    else:
        wanted = form.document_eos if "document_eos" in given else None
        options |= {"form": form.form, "document_eos": wanted, "resume": form.resume}
        _write_files(tokenizer, inputs, options, target, run.quiet)


def _with_spark(
    tokenizer: volt.Tokenizer,
    inputs: Stdin,
    settings: EncodeSettings,
    spark: SparkColumns,
    output: str,
) -> None:
    from volt.counting.spark import session as spark_session
    from volt.tokenizing.spark import encode_on_spark

    with spark_session(spark.master) as session:
        encode_on_spark(
            session, tokenizer, inputs.files, output, field=_one_field(settings.field),
            column=spark.column or "ids", allowed_special=settings.allowed_special,
        )  # fmt: skip


def _one_field(fields: Sequence[str]) -> str:
    if len(fields) > 1:
        raise SettingsError("Spark encodes one column: name one `field`")
    return fields[0] if fields else "text"


def _write_files(
    tokenizer: volt.Tokenizer, inputs: Stdin, options: dict[str, Any], target: File, quiet: bool
) -> None:
    from volt.tokenizing.training_files import TRAINING_FORMS
    from volt.tokenizing.unfinished import what_is_kept

    if options["resume"] and not what_is_kept(target.output or ""):
        say(
            quiet,
            "if this is stopped, the same command goes on after the last whole piece (64 MiB of "
            "lines, a row group of Parquet, or a file); what came after it is encoded again",
        )
    try:
        found = volt.encode_to_files(
            tokenizer, inputs.files, target.output or "", force=target.force, **options
        )
    except (SystemExit, OSError):  # a signal, or a disk that is full
        if options["resume"]:
            say(quiet, *kept_lines(target.output or ""))
        raise
    if found.complete:
        say(
            quiet,
            f"{target.output} is complete: {plural(found.tokens, 'token')} of "
            f"{plural(found.documents, 'text')}, from the same inputs with the same options; "
            "nothing is left to do (--force encodes them again)",
        )
        return
    after = "" if found.eos is None else f", eos {found.eos} after each"
    tokens, texts = plural(found.tokens, "token"), plural(found.documents, "text")
    say(
        quiet,
        *([f"{plural(found.kept, 'text')} had been done before"] if found.kept else []),
        f"{tokens} ({found.dtype}) of {texts}{after}",
        *(f"wrote {file}{_meaning(file.name)}" for file in found.files),
        f"read it in Python: {TRAINING_FORMS[options['form']].reader(found)}",
    )


def _meaning(name: str) -> str:
    """What a file beside the ids is for."""
    return TABLE if name == "token_bytes.npy" else OFFSETS * name.endswith(".offsets.npy")


def kept_lines(output: str) -> list[str]:
    """What a run that was stopped keeps, and how to go on with it."""
    from volt.tokenizing.unfinished import what_is_kept

    found = what_is_kept(output)
    if found is None:
        return ["nothing is kept: the first piece was not complete yet"]
    folder, done = found
    return [f"kept in {folder}: {done}; go on: {shlex.join(['volt', *sys.argv[1:]])}"]


def _write_text(
    tokenizer: volt.Tokenizer, inputs: Stdin, options: dict[str, Any], form: TextForm, target: File
) -> int:
    """How many lines were written."""
    lines = 0

    def write(stream: BinaryIO) -> None:
        nonlocal lines
        for block in tokenizer.encode_to_text(inputs.files, form, **options):
            stream.write(block)
            lines += block.count(b"\n")

    target.write(write)
    return lines
