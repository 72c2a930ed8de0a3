"""The registry of formats."""

from __future__ import annotations

from volt.base.registry import Registry
from volt.formats import (
    fairseq,
    gpt2,
    huggingface,
    marian,
    sentencepiece,
    subword_nmt,
    text,
    tiktoken,
)
from volt.formats.base import Format

FORMATS: Registry[Format] = Registry(
    "format",
    [
        huggingface.FORMAT,
        sentencepiece.FORMAT,
        subword_nmt.FORMAT,
        gpt2.FORMAT,
        tiktoken.FORMAT,
        fairseq.FORMAT,
        marian.FORMAT,
        text.FORMAT,
    ],
)
