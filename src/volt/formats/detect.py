"""Which format a file has, by its name and content."""

from __future__ import annotations

from pathlib import Path

from volt.base.errors import InputError
from volt.formats.files import read_bytes
from volt.formats.registry import FORMATS
from volt.tokenizing.volt_json import check_sides


def detect(path: Path) -> str:
    """Which format a file or folder has."""
    if path.name == "volt.json":
        raise InputError(f"{path}: this is a vocabulary of volt: use it as it is")
    for name, form in FORMATS.items():
        if path.is_dir():
            if any((path / end).exists() for end in form.names if not end.startswith(".")):
                return name
        elif path.name.endswith(form.names):
            return name
    if path.is_dir():
        check_sides(path)
        if (path / "volt.json").exists():
            return detect(path / "volt.json")
        raise InputError(f"{path}: no tokenizer.json, vocab.json or dict.txt in this folder")
    data = read_bytes(path)
    head = data[:4096]
    first = head.partition(b"\n")[0].rstrip(b"\r")
    if first.startswith(b"#version:"):
        return "subword-nmt"
    if head.lstrip()[:1] == b"{":
        return "hf" if b'"model"' in data else "gpt2"
    if b"\0" in head or _is_no_text(head):
        return "sentencepiece"
    token, _, rank = first.rpartition(b" ")
    if rank.isdigit() and token:
        if token.endswith(b":"):
            return "marian"
        return "tiktoken" if len(token) % 4 == 0 and _base64_lines(data) else "fairseq"
    return "text"


def _is_no_text(head: bytes) -> bool:
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.end < len(head)
    return False


def _base64_lines(data: bytes) -> bool:
    """Are there lines for all 256 bytes? A dictionary of words has none for most."""
    codes = {line.partition(b" ")[0] for line in data.split(b"\n")}
    return all(code in codes for code in (b"AA==", b"/w==", b"gA=="))
