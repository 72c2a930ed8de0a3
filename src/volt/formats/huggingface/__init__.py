"""Hugging Face `tokenizer.json`, for `tokenizers` and `transformers.PreTrainedTokenizerFast`.

BPE takes every pre-tokenizer and both merge rules. The encoding `longest` is WordPiece there, and
`unigram` is Unigram. In metaspace mode a normalizer puts `▁` before the text, because HF's own
Metaspace does not put a second one before a space. As in volt, there is none before a special token
or symbol. HF finds special tokens in the text by default: this is volt's `allowed_special="all"`.
With `tokenizer.encode_special_tokens = True` they are ordinary text.
"""

from volt.formats.base import Format
from volt.formats.huggingface.read import parse, read
from volt.formats.huggingface.write import (
    notes,
    refusals,
    to_transformers,
    tokenizer_data,
    write,
)

FORMAT = Format(
    name="hf",
    toolkit="Hugging Face",
    description="A fast tokenizer for `tokenizers` and `transformers`.",
    writes="folder for `AutoTokenizer`, with `tokenizer.json`; or `PATH.json`, that file alone",
    write=write,
    read=read,
    encodings=("merge", "longest", "unigram"),
    merge_rule="pairs",
    refusals=refusals,
    notes=notes,
    names=("tokenizer.json",),
    example=(
        "hf",
        'from transformers import AutoTokenizer; AutoTokenizer.from_pretrained("hf")',
    ),
)

__all__ = ["FORMAT", "parse", "read", "to_transformers", "tokenizer_data", "write"]
