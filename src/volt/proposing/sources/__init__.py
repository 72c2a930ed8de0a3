"""The sources of candidates, one file each. Importing this package registers them.

The source `file`, which takes the tokens of somebody's tokenizer, is registered by volt.foreign.
"""

from volt.base.registry import members
from volt.proposing.proposal import SOURCES

FIRST = ("bpe", "unigram", "wordpiece", "substring")
"""The order in which they are shown; those of other files in this folder follow."""
for _source in members(__name__, "SOURCE", FIRST):
    SOURCES.register(_source)

__all__ = ["SOURCES"]
