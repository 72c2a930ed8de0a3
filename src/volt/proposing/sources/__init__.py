"""The sources of candidates, one file each. Importing this package registers them.

The source `file`, which takes the tokens of somebody's tokenizer, is registered by volt.foreign.
"""

from volt.proposing.proposal import SOURCES
from volt.proposing.sources import bpe, substring, unigram, wordpiece

for _module in (bpe, unigram, wordpiece, substring):
    SOURCES.register(_module.SOURCE)

__all__ = ["SOURCES"]
