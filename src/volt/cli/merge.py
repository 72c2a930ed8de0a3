"""volt merge: vocabularies of volt joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import volt
from volt.base.options import argument, file_list, many, one_of, option, path
from volt.cli.arguments import Folder, Run, check_learned
from volt.cli.command import command
from volt.cli.console import print_json, progress_for, say
from volt.cli.languages import joined_lines
from volt.settings import merge_rules


@dataclass(frozen=True, kw_only=True)
class MergeCommand(Folder, group="Input"):
    folders: Sequence[str] = argument(
        ..., "Folders with a volt.json, or such files.", many(path()), metavar="DIR DIR..."
    )
    on: Sequence[str] = option(
        (), "Text or counts to measure frequencies on; may be given several times.", file_list(),
        default_words="sums of the parts",
    )  # fmt: skip
    merge_rule: Any = option(
        None, "Which tokens may merge", one_of(merge_rules), group="Tokens",
        default_words="that of the parts",
    )  # fmt: skip


@command("volt merge german/ english/ -o both/")
def merge(asked: MergeCommand, run: Run) -> None:
    """Join vocabularies into one that is closed, with a map of the ids of each."""
    asked.claim(asked.folders, asked.on)
    for folder in asked.folders:
        check_learned(folder)
    parts = [volt.load_vocabulary(folder) for folder in asked.folders]
    counts = None
    if asked.on:
        rule = parts[0].rule
        counts = volt.count(
            asked.on, pretokenizer=rule.pretokenizer, normalize=rule.normalize,
            max_word_length=rule.max_word_length, unit=rule.reads, threads=run.threads,
            progress=progress_for(run.quiet),
        )  # fmt: skip
    joined = volt.join(parts, counts=counts, merge_rule=asked.merge_rule, threads=run.threads)
    joined.save(asked.output, force=asked.force)
    if run.json:
        print_json(joined.summary())
    maps = ", ".join(f"id_map.{number}.npy" for number in range(1, len(parts) + 1))
    say(run.quiet, *joined_lines(joined.summary()))
    if counts is None:
        say(run.quiet, "note: frequencies are sums of the parts'; --on FILE measures them")
    say(run.quiet, f"written to {asked.output}: volt.json, signature.txt, {maps}")
