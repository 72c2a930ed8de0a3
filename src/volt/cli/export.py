"""volt export: a vocabulary as files of another toolkit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from shlex import quote

import volt
from volt.base.options import Settings, file_list, late, one_of, option, path
from volt.cli.arguments import REPLACE, ModelOption, Printing, formats
from volt.cli.command import command
from volt.cli.console import print_json, say
from volt.settings.roles import UseSettings
from volt.tokenizing.roles import with_roles

check_target = late("volt.formats.exchange", "check_target")


@dataclass(frozen=True, kw_only=True)
class ExportCommand(Settings, group="Output"):
    to: str = option(..., "Format to write", one_of(formats, check_target, aliases=True))
    output: str = option(
        ..., "A folder for hf and gpt2, a file for the others; further files go next to it.",
        path("PATH"), short="-o",
    )  # fmt: skip
    force: bool = option(False, REPLACE)
    check: Sequence[str] = option(
        (), "Count the words of this text that the toolkit encodes differently; may be given "
        "several times.", file_list(), group="Input",
    )  # fmt: skip


@command("volt export -m out --to hf -o tokenizer/")
def export(model: ModelOption, asked: ExportCommand, roles: UseSettings, shown: Printing) -> None:
    """Write a vocabulary for another toolkit, which then gives the same tokens."""
    vocabulary = model.load().vocabulary
    result = volt.export(
        vocabulary, asked.to, asked.output, check=asked.check or None, force=asked.force,
        inputs=[model.file], **asdict(roles),
    )  # fmt: skip
    say(shown.quiet, *(f"wrote {file}" for file in result.files), *result.messages)
    if not shown.quiet and volt.formats.FORMATS[asked.to].merge_rule is not None:
        from volt.verification import verify_conversion

        # With its roles: what is verified is what was written.
        vocabulary = with_roles(vocabulary, roles)
        say(shown.quiet, verify_conversion(vocabulary, result.files[0], asked.to))
    elif not shown.quiet:
        form = volt.formats.FORMATS[asked.to].encoded_as(vocabulary)
        written = "" if form == "tokens" else f" --as {form}"
        encode = f"volt encode -m {quote(model.model)}{written} train.de -o train.bpe.de"
        then = f"next: {encode}, and your other files likewise"
        say(shown.quiet, "not verified: a list of tokens encodes no text", then)
    if result.check is not None:
        say(shown.quiet, f"checked: {result.check} are encoded differently")
    elif asked.check:
        say(shown.quiet, f"not checked: {asked.to} is a list of tokens")
    if shown.json:
        print_json(result.summary())
