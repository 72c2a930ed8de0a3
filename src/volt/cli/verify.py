"""volt verify: do two tokenizers give the same ids?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import volt
from volt.base.lines import WIDTH, Line
from volt.base.options import argument, file_list, option, path
from volt.base.shown import plural
from volt.cli.arguments import Pattern, Printing
from volt.cli.command import command
from volt.cli.console import print_json, say
from volt.settings import TextSettings

DIFFERENT = 1


@dataclass(frozen=True, kw_only=True)
class VerifyCommand(Pattern, group="Input"):
    first: str = argument(..., "A tokenizer of any toolkit.", path(), metavar="A")
    second: str = argument(..., "Another tokenizer.", path(), metavar="B")
    on: Sequence[str] = option(
        (), "Text to encode besides the 2,000 built-in texts; may be given several times.",
        file_list(),
    )  # fmt: skip
    texts: bool = option(False, "Compare the texts of the tokens, not their ids.", group="Tokens")


@command("volt verify model/tokenizer.json out/ --on test.txt")
def verify(asked: VerifyCommand, reading: TextSettings, shown: Printing) -> None:
    """Tell whether two tokenizers, of any toolkit, give the same ids: exit code 0 or 1."""
    found = volt.verify(
        asked.first,
        asked.second,
        asked.on or None,
        texts=asked.texts,
        pattern=asked.pattern,
        **vars(reading),
    )
    if shown.json:
        print_json(found.summary())
    else:
        what = "tokens" if asked.texts else "ids"
        of_all = f"({plural(found.tokens, 'token')})"
        texts = plural(found.documents, "text")
        if found.same:
            print(f"{found.verdict(what)}: {found.documents:,} of {texts} are equal {of_all}")
            if found.given:
                print(f"  {plural(found.documents - found.given, 'built-in text')} and "
                      f"{found.given:,} of yours")  # fmt: skip
        else:
            differ = found.documents - found.equal
            print(f"{found.verdict(what)}: {differ:,} of {texts} differ {of_all}")
        if found.given and not found.same:
            built_in = found.documents - found.given
            yours = "your text" if found.given == 1 else f"your {found.given:,} texts"
            print(f"  of {yours} {found.lines_different:,} of {plural(found.lines, 'line')}, of "
                  f"the built-in texts {built_in - (found.equal - found.equal_given):,} of "
                  f"{built_in:,}")  # fmt: skip
        if found.only_at_names:
            print(f"  the text between these names gives the same {what}")
        for one in found.differences:
            whose = "built-in text" if one.built_in else "your text"
            print(f"{whose} {one.document:,}, line {one.line}: {one.text!r}")
            for side, tokens in (("A", one.first), ("B", one.second)):
                shown_tokens = " ".join([*tokens[: one.same], "|", *tokens[one.same :]])
                print(*Line(f"  {side}  {shown_tokens}", indent=5).wrapped(WIDTH), sep="\n")
    say(shown.quiet, *(f"note: {message}" for message in found.messages))
    if not found.same:
        raise SystemExit(DIFFERENT)
