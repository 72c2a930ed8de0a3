"""Files of other toolkits: one module per format, and the registry of them.

>>> import volt
>>> sorted(volt.formats.FORMATS)
['fairseq', 'gpt2', 'hf', 'marian', 'sentencepiece', 'subword-nmt', 'text', 'tiktoken']
"""

from volt.formats.base import Format
from volt.formats.detect import detect
from volt.formats.exchange import ExportResult, export, import_vocabulary
from volt.formats.merges import Check
from volt.formats.registry import FORMATS

__all__ = [
    "FORMATS", "Check", "ExportResult", "Format", "detect", "export", "import_vocabulary",
]  # fmt: skip
