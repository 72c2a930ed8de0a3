"""volt import: the vocabulary of another toolkit."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import volt
from volt.base.lines import Line
from volt.base.options import argument, one_of, option, path
from volt.base.shown import plural
from volt.cli.arguments import Folder, Pattern, Printing, formats
from volt.cli.command import command
from volt.cli.console import print_json, say, say_lines


@dataclass(frozen=True, kw_only=True)
class ImportCommand(Folder, Pattern, group="Input"):
    file: str = argument(
        ..., "tokenizer.json, .model, codes, vocab.json, vocab.txt, ranks, GGUF, a list; or their "
        "folder.", path(), metavar="FILE",
    )  # fmt: skip
    form: str | None = option(
        None, "Format of the file", one_of(formats, aliases=True), flag="from",
        default_words="as it looks",
    )  # fmt: skip


@command("volt import tokenizer.json -o out/")
def import_(asked: ImportCommand, shown: Printing) -> None:
    """Read the vocabulary of another toolkit into a folder that volt can use."""
    from volt.base.gate import named
    from volt.base.output import atomic_folder
    from volt.formats.detect import detect

    asked.claim(asked.file)
    form = asked.form or detect(named(asked.file))
    vocabulary, messages = volt.import_vocabulary(asked.file, form, asked.pattern)
    with atomic_folder(asked.output, force=asked.force) as folder:
        vocabulary.save(folder / "volt.json")
    rule = vocabulary.rule.pretokenizer
    merges = vocabulary.look_up is None
    how = f"rule {vocabulary.merge_rule}" if merges else f"encoding {vocabulary.encoding}"
    from volt.verification import verify_conversion

    verified = verify_conversion(vocabulary, asked.file, form, asked.pattern)
    say(shown.quiet, f"{plural(len(vocabulary), 'token')}, {rule}, {how}", *messages, verified)
    say(shown.quiet, f"wrote {Path(asked.output) / 'volt.json'}")
    following = f"next: volt encode -m {shlex.quote(asked.output)} FILE"
    say_lines(shown.quiet, [Line(following, "bold")])
    if shown.json:
        print_json(
            {
                "size": len(vocabulary),
                "pretokenizer": rule,
                "encoding": vocabulary.encoding,
                "merge_rule": vocabulary.merge_rule,
                "unknown": vocabulary.unknown,
                "hidden": len(vocabulary.hidden),
                "unreachable": len(vocabulary.unreachable),
                "messages": messages,
                "verified": verified,
            }
        )
