"""Loading a tokenizer: its vocabulary is read, and tried on the sample texts in its file."""

from __future__ import annotations

import os

from volt.base.arguments import names_arguments
from volt.base.errors import InputError
from volt.tokenizing.compiled import StoredTokens
from volt.tokenizing.tokenizer import Tokenizer
from volt.tokenizing.volt_json import load_vocabulary


@names_arguments
def load(path: str | os.PathLike[str], *, threads: int | None = None) -> Tokenizer:
    """Load the vocabulary of a folder, or a `volt.json`, and check that it encodes its sample texts
    as it did when it was made.

    >>> import tempfile, volt
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     volt.learn([["low lower lowest"] * 30], size=272).save(folder, force=True)
    ...     len(volt.load(folder))
    272
    """
    vocabulary = load_vocabulary(path)
    try:
        return _tested(path, Tokenizer(vocabulary, threads=threads))
    except InputError:
        if not isinstance(vocabulary.tokens, StoredTokens):
            raise
        # The compiled cache is not what it claims to be.
        vocabulary = load_vocabulary(path, compiled=False)
        return _tested(path, Tokenizer(vocabulary, threads=threads))


def _tested(path: str | os.PathLike[str], tokenizer: Tokenizer) -> Tokenizer:
    for i, (text, expected) in enumerate(tokenizer.vocabulary.self_test):
        found = tokenizer.encode(text)
        if found != expected:
            raise InputError(
                f"{os.fspath(path)}: self_test[{i}]: {text[:60]!r} is encoded as {found[:20]}, "
                f"the file says {expected[:20]}; it was edited, or made by another volt"
            )
    return tokenizer
