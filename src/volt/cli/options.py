"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from volt.counting.counts import MOST
from volt.counting.inputs import OnInvalid as OnInvalidName
from volt.counting.words import PRETOKENIZERS
from volt.counting.words import Normalization as NormalizationName

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Text or counts files, folders, or - for stdin; gz, bz2, xz, zst as they are. "
        "FILE:2.0 gives a file a weight.",
        show_default=False,
    ),
]
if TYPE_CHECKING:
    PretokenizerName = str
else:
    PretokenizerName = Literal[tuple(PRETOKENIZERS)]
Pretokenizer = Annotated[
    PretokenizerName | None,
    typer.Option(help="How lines are cut into words.  [default: metaspace]", show_default=False),
]
Normalize = Annotated[
    NormalizationName | None,
    typer.Option(help="Unicode normalisation.  [default: none]", show_default=False),
]
MaxWordLength = Annotated[
    int | None,
    typer.Option(
        min=2,
        max=MOST,
        help="Longer words are cut, in characters.  [default: 64]",
        show_default=False,
    ),
]
OnInvalid = Annotated[OnInvalidName, typer.Option(help="What to do with invalid UTF-8.")]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out words rarer than this.")]
MaxTypes = Annotated[
    int | None,
    typer.Option(min=1, help="Keep at most this many word types (lossy).", show_default=False),
]
Memory = Annotated[
    str | None,
    typer.Option(help="Count within this memory, such as 4G; needs -o.", show_default=False),
]
Spill = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder for what does not fit the memory.  [default: OUTPUT.spill]",
        show_default=False,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a count that was killed.")]
Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", help="Weight of all files, or once per FILE, in order.", show_default=False
    ),
]
Glob = Annotated[str, typer.Option(help="Which files of a folder.")]
InputFormat = Annotated[
    Literal["auto", "text", "counts"],
    typer.Option("--input-format", help="Are the inputs text or word<TAB>count?"),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--candidates",
        metavar="SOURCE",
        help="bpe:N, unigram:N, wordpiece:N, substring:N or file:PATH.  [default: bpe:100000]",
        show_default=False,
    ),
]
Encoding = Annotated[
    Literal["merge", "split", "unigram", "longest"] | None,
    typer.Option(
        help="How text is cut with the vocabulary.  [default: merge for bpe, longest for "
        "wordpiece, else unigram]",
        show_default=False,
    ),
]
Merges = Annotated[int, typer.Option("--merges", "-n", min=0, max=MOST, help="How many merges.")]
Coverage = Annotated[
    float | None,
    typer.Option(
        help="Share of the characters that the alphabet holds.  "
        "[default: 1, or 0.9995 from 5,000 characters on]",
        show_default=False,
    ),
]
MaxTokenLength = Annotated[
    int | None,
    typer.Option(min=1, max=MOST, help="Characters of the longest token.", show_default=False),
]
MinFrequency = Annotated[int, typer.Option(min=1, max=MOST, help="Do not merge rarer pairs.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write here.  [default: stdout]", show_default=False),
]
Length = Annotated[
    Literal["types", "occurrences"], typer.Option(help="Mean length in the entropy.")
]
Gamma = Annotated[float, typer.Option(help="Weight of the plan's entropy.")]
Epsilon = Annotated[float, typer.Option(help="Relative play of a token's mass.")]
Threshold = Annotated[float, typer.Option(help="Drop tokens that get less of what they ask for.")]
ModelWidth = Annotated[
    int, typer.Option(min=1, help="Embedding width, the price of a token in mdl.")
]
Bootstrap = Annotated[int, typer.Option(min=0, help="Draws for the intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the draws.")]
Threads = Annotated[
    int | None,
    typer.Option(min=1, help="Threads.  [default: one a core]", show_default=False),
]
Engine = Annotated[
    Literal["local", "spark"],
    typer.Option(help="This machine, or Apache Spark (extra spark)."),
]
Master = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark's master: spark://HOST:7077, yarn, local[4].  [default: as Spark is set up]",
        show_default=False,
    ),
]
Field = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Spark: the column, or member of a JSON object, that holds the text.  [default: text]",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")]
