"""The checkpoint of a model, cut or grown to another vocabulary: a Hugging Face folder in, one out.

A checkpoint has a row for every token in the embedding matrix, in the output matrix (unless the two
are one) and sometimes in a bias. Their rows are taken over as bytes, so every number stays what it
was; only the rows of added tokens, means of old rows, are computed. Tensors are read and written in
the safetensors format directly: neither torch nor transformers is needed, nor memory for more than
one matrix.

Nothing in the folder is trusted, and nothing in it is changed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from volt.base.errors import InputError
from volt.base.gate import (
    SETTINGS,
    copy_file,
    keep_mode,
    open_file,
    parse_json,
    read_json,
    read_text,
    reading,
)
from volt.base.schema import fixed, rows, table, text, whole
from volt.foreign.json_text import JsonText
from volt.foreign.settings_ids import ID_KEY, renumbered
from volt.formats import huggingface
from volt.formats.detect import hub_hint
from volt.formats.huggingface.folder import TEMPLATE, roles_beside
from volt.tokenizing.vocabulary import Vocabulary

INPUT_NAMES = (
    "embed_tokens.weight", "wte.weight", "shared.weight", "word_embeddings.weight",
    "tok_embeddings.weight", "embed_in.weight", "tokens_embed.weight", "embeddings.weight",
)  # fmt: skip
OUTPUT_NAMES = (
    "lm_head.weight", "embed_out.weight", "output.weight", "decoder.weight",
    "vocab_projector.weight", "lm_head.bias", "decoder.bias", "predictions.bias",
    "vocab_projector.bias", "final_logits_bias", "generator_lm_head.weight",
    "generator_lm_head.bias",
)  # fmt: skip
"""How tensors with a row for every token are called in the models of transformers; what stands
before the name tells the part of the model."""

AUTO_CLASSES = {
    "ForCausalLM": "AutoModelForCausalLM", "LMHeadModel": "AutoModelForCausalLM",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM", "MarianMTModel": "AutoModelForSeq2SeqLM",
    "ForMaskedLM": "AutoModelForMaskedLM", "ForPreTraining": "AutoModelForPreTraining",
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
}  # fmt: skip
"""What loads a model, by how the name of its class ends."""

BYTES_OF = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4,
    "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1,
}  # fmt: skip
STORED_AS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}
"""NumPy has no bfloat16: the upper half of a float32."""
FLOATS = ("F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2")
PACKED = ("I32", "U32", "I16", "U16", "I8", "U8")
"""What quantized matrices are stored in, often several parameters to a number."""
LONGEST_HEADER = 100_000_000
BLOCK = 1 << 24

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "merges.txt", "vocab.txt", "tokenizer.model", "tokenizer.vocab", "spiece.model",
    "sentencepiece.bpe.model", "source.spm", "target.spm", "tekken.json",
)  # fmt: skip
OTHER_WEIGHTS = (".bin", ".h5", ".msgpack", ".onnx", ".pt", ".pth", ".gguf", ".ckpt", ".ot")
CONFIG, GENERATION = "config.json", "generation_config.json"
ADAPTER = "adapter_config.json"
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


class RowMaker(Protocol):
    """Makes the rows of added tokens."""

    def __call__(self, name: str, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """A row per added token, for the tensor of this name. `table` has the old rows."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """Where the rows of the new vocabulary come from."""

    id_map: NDArray[np.int64]
    """Old id to new id; -1 for a token that was dropped."""
    parts: list[list[int]] = field(default_factory=list)
    """For every token added after them, the old tokens whose mean its rows are."""
    init: RowMaker | None = None
    """Another way to make the rows of added tokens."""

    @property
    def kept(self) -> NDArray[np.int64]:
        """The old ids of the tokens that stay, by new id."""
        stays = np.flatnonzero(self.id_map >= 0)
        return stays[np.argsort(self.id_map[stays], kind="stable")]


@dataclass(frozen=True)
class Tensor:
    """Where a tensor is in its file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True)
class TensorFile:
    path: Path
    metadata: dict[str, str]
    tensors: list[Tensor]
    """In the order of their bytes."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A folder that can be cut: everything in it that has to do with the vocabulary is known."""

    folder: Path
    config: dict[str, Any]
    generation: dict[str, Any] | None
    files: list[TensorFile] = field(repr=False)
    index: dict[str, Any] | None = field(repr=False)
    tables: dict[str, int] = field(repr=False)
    """Tensors with a row for every token, and which of their axes that is."""
    rows: int
    """The vocabulary's size by config.json. Those after the tokenizer's tokens are padding."""
    special_ids: set[int]
    """Tokens that the settings name. They have to stay."""

    @property
    def tensor_bytes(self) -> int:
        """Of all tensors."""
        return sum(tensor.end - tensor.start for file in self.files for tensor in file.tensors)

    @property
    def auto_class(self) -> str:
        """The class of transformers that loads it, by what the config says it was."""
        named = self.config.get("architectures")
        name = str(named[0]) if isinstance(named, list) and named else ""
        ends = (end for end in AUTO_CLASSES if name.endswith(end))
        return AUTO_CLASSES.get(next(ends, ""), "AutoModel")

    def bytes_after(self, rows: int) -> int:
        """Of all tensors if the tables have so many rows."""
        less = sum(
            (tensor.end - tensor.start) // tensor.shape[self.tables[tensor.name]]
            for file in self.files for tensor in file.tensors if tensor.name in self.tables
        )  # fmt: skip
        return self.tensor_bytes + (rows - self.rows) * less

    @property
    def for_model(self) -> str | None:
        """PARAMS:WIDTH, as `for_model` takes it: the parameters outside the embeddings, and the
        embedding width. None where they can't be counted: several are packed into one number."""
        width, body = 0, 0
        for tensor in (one for file in self.files for one in file.tensors):
            if tensor.name in self.tables:
                if is_called(tensor.name, INPUT_NAMES) and len(tensor.shape) == 2:
                    width = tensor.shape[1 - self.tables[tensor.name]]
            elif tensor.dtype in PACKED and len(tensor.shape) == 2:
                return None
            elif tensor.dtype in FLOATS and tensor.shape[:2] != (1, 1):  # (1, 1, n, n) is a mask
                body += math.prod(tensor.shape)
        return f"{body}:{width}" if 0 < width < 10**6 and 0 < body <= 10**15 else None

    def write(
        self,
        target: Path,
        vocabulary: Vocabulary,
        rows: NewRows,
        tokenizer_files: dict[str, bytes] | None = None,
    ) -> list[str]:
        """Write the folder `target`, which must not exist; what to know about it."""
        messages: list[str] = []
        try:
            target.mkdir()
            total = 0
            for file in self.files:
                total += self._write_tensors(file, target / file.path.name, rows)
            if self.index is not None:
                metadata = {**self.index.get("metadata", {}), "total_size": total}
                _write_json(target / INDEX, {**self.index, "metadata": metadata})
            for name, data in ((CONFIG, self.config), (GENERATION, self.generation)):
                if data is not None:
                    new = renumbered(data, lambda i, *_: int(rows.id_map[i]), name, messages)
                    new = _with_size(new, self.rows, len(vocabulary))
                    text = JsonText(read_text(self.folder / name)).with_changes(data, new)
                    (target / name).write_bytes(text.encode())
            for name, content in (tokenizer_files or self._tokenizer(vocabulary)).items():
                if name != GENERATION or self.generation is None:  # the model has its own
                    (target / name).write_bytes(content)
            messages += self._copy_others(target)
        except OSError as error:
            raise InputError(f"cannot write {target.name}: {error.strerror or error}") from error
        spare = self.rows - len(rows.id_map)
        if spare:
            messages.append(
                f"{spare:,} rows of padding after the {len(rows.id_map):,} tokens were left out"
            )
        return messages

    def _write_tensors(self, file: TensorFile, target: Path, rows: NewRows) -> int:
        """Write a file with its tables cut; how many bytes of tensors it has."""
        header: dict[str, Any] = {"__metadata__": file.metadata} if file.metadata else {}
        size = len(rows.kept) + len(rows.parts)
        position = 0
        for tensor in file.tensors:
            shape = list(tensor.shape)
            if tensor.name in self.tables:
                shape[self.tables[tensor.name]] = size
            length = math.prod(shape) * BYTES_OF[tensor.dtype]
            header[tensor.name] = {
                "dtype": tensor.dtype,
                "shape": shape,
                "data_offsets": [position, position + length],
            }
            position += length
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)  # tensors start at a multiple of 8
        with open_file(file.path) as source, target.open("xb") as out:
            keep_mode(source, out)
            out.write(len(text).to_bytes(8, "little") + text)
            for tensor in file.tensors:
                if tensor.name in self.tables:
                    table = _read_table(source, tensor, file.path)
                    axis = self.tables[tensor.name]
                    out.write(_new_table(table, axis, tensor, rows, file.path).tobytes())
                else:
                    for block in _blocks(source, tensor, file.path):
                        out.write(block)
        return position

    def _tokenizer(self, vocabulary: Vocabulary) -> dict[str, bytes]:
        """Files for a tokenizer that was in another format, with the roles its tokens had."""
        special = set(vocabulary.of_kind("special"))
        roles, _ = roles_beside(self.folder, vocabulary.roles, vocabulary.unknown_token, special)
        vocabulary = replace(vocabulary, roles=roles)
        files = {p.name: data for p, data in huggingface.write(vocabulary, Path()).items()}
        given_file = self.folder / "tokenizer_config.json"
        given = _settings(given_file) if given_file.exists() else {}
        config = json.loads(files["tokenizer_config.json"])
        for key, value in given.items():
            name = value.get("content") if isinstance(value, dict) else value
            is_role = key.endswith("_token") and isinstance(name, str) and name in vocabulary.ids
            template = key == "chat_template" and TEMPLATE not in files
            if is_role or template or key in ("model_max_length", "padding_side"):
                config[key] = name if is_role else value
        text = json.dumps(config, ensure_ascii=False, indent=1) + "\n"
        return {**files, "tokenizer_config.json": text.encode()}

    def _copy_others(self, target: Path) -> list[str]:
        mine = {*TOKENIZER_FILES, CONFIG, GENERATION, INDEX, *(f.path.name for f in self.files)}
        left: list[str] = []
        for path in sorted(self.folder.iterdir()):
            if path.name in mine or (target / path.name).exists():
                continue
            if path.is_dir() or path.name.endswith((*OTHER_WEIGHTS, ".safetensors")):
                left.append(path.name)
            else:
                copy_file(path, target / path.name)
        return [f"not taken over from the model's folder: {', '.join(left)}"] if left else []


# --------------------------------------------------------------------------------------------- open


def open_checkpoint(folder: str | os.PathLike[str], tokens: int) -> Checkpoint:
    """Look at everything that has to be changed for another vocabulary; refuse what can't be.

    `tokens` is the size of the tokenizer that the model uses.
    """
    path = Path(folder)
    _check_folder(path)
    config = _settings(path / CONFIG)
    generation = _settings(path / GENERATION) if (path / GENERATION).exists() else None
    rows = _vocabulary_size(config, path / CONFIG)
    if tokens > rows:
        raise InputError(
            f"{path}: the model has {rows:,} rows (vocab_size), and the tokenizer {tokens:,} "
            "tokens: it is not the tokenizer of this model; or if tokens were added to it, also in "
            "its settings, give the model rows for them first (resize_token_embeddings)"
        )
    special: set[int] = set()
    for name, data in ((CONFIG, config), (GENERATION, generation)):
        special |= _named_ids(data or {}, tokens, rows, path / name)
    files, index = _find_tensors(path)
    tables = _find_tables(files, rows, config)
    return Checkpoint(path, config, generation, files, index, tables, rows, special)


def _check_folder(path: Path) -> None:
    """Refuse what is not the folder of a model."""
    if not path.exists():
        raise InputError(f"no such folder: {path}{hub_hint(path, 'AutoModelForCausalLM')}")
    if not path.is_dir():
        raise InputError(f"{path} is a file: name the folder of the model, {path.parent}")
    if (path / CONFIG).exists():
        return
    if (path / ADAPTER).exists():
        raise InputError(
            f"{path}: {ADAPTER} is there and no {CONFIG}: a LoRA adapter has to be merged into its "
            "model first (merge_and_unload of peft, then save_pretrained)"
        )
    raise InputError(f"{path} is not the folder of a model: {CONFIG} is missing")


def _settings(file: Path) -> dict[str, Any]:
    data: dict[str, Any] = read_json(file, table({}), SETTINGS)
    return data


def _vocabulary_size(config: dict[str, Any], file: Path) -> int:
    size = config.get("vocab_size")
    if type(size) is not int or size < 1:
        raise InputError(f"{file}: vocab_size: {str(size)[:40]!r} is not a number of tokens")
    other = config.get("decoder_vocab_size", size)
    if other not in (size, None):
        raise InputError(
            f"{file}: decoder_vocab_size is {other}, vocab_size {size}: volt cuts models that have "
            "one vocabulary for both sides"
        )
    for key, value in config.items():
        if isinstance(value, dict) and "vocab_size" in value:
            raise InputError(
                f"{file}: {key}.vocab_size: a model inside the model has a vocabulary of its own; "
                "volt cuts models that have one"
            )
    return size


def _named_ids(data: dict[str, Any], tokens: int, rows: int, file: Path) -> set[int]:
    """The tokens that settings name by their id, and that have to stay."""
    found: set[int] = set()

    def note(number: Any, where: str, required: bool) -> int:
        if type(number) is not int or not 0 <= number < tokens:
            one = f"{where}: {str(number)[:40]!r} is not a token"
            if rows == tokens:
                raise InputError(f"{one}: the tokenizer has ids 0 to {tokens - 1}")
            raise InputError(
                f"{file.parent}: the model has {rows:,} rows, and the tokenizer {tokens:,} tokens: "
                f"it may be that of another model ({one})"
            )
        if required:
            found.add(number)
        return number

    renumbered(data, note, str(file), [])
    return found


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield value


def _find_tensors(folder: Path) -> tuple[list[TensorFile], dict[str, Any] | None]:
    if (folder / SINGLE).exists():
        return [read_header(folder / SINGLE)], None
    file = folder / INDEX
    if not file.exists():
        raise InputError(
            f"{folder}: neither {SINGLE} nor {INDEX} is there; save the model with "
            "save_pretrained, which writes safetensors"
        )
    index = _settings(file)
    place_of = index.get("weight_map")
    if (
        not isinstance(place_of, dict)
        or not place_of
        or not isinstance(index.get("metadata", {}), dict)
        or not all(isinstance(name, str) for name in place_of.values())
    ):
        raise InputError(f"{file}: weight_map: not a table of tensors and files")
    names = sorted(set(place_of.values()))
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise InputError(f"{file}: weight_map: {name[:60]!r} is not a file of this folder")
    files = [read_header(folder / name) for name in names]
    found = {tensor.name: one.path.name for one in files for tensor in one.tensors}
    if found != place_of or len(found) != sum(len(one.tensors) for one in files):
        wrong = min({*found.items()} ^ {*place_of.items()}, default=("a tensor", ""))[0]
        raise InputError(f"{file}: weight_map: {wrong[:60]!r} is not where it says")
    return files, index


HEADER = table(
    {}, {"__metadata__": table({}, others=text())},
    table({"dtype": text(), "shape": rows(whole()), "data_offsets": fixed(whole(), whole())}),
)  # fmt: skip


def read_header(file: Path) -> TensorFile:
    """What tensors a safetensors file has, and where. All bytes after the header are theirs."""
    with reading(file), open_file(file) as stream:
        size = os.fstat(stream.fileno()).st_size
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise InputError(f"{file}: not a safetensors file, or cut short")
        written = stream.read(length)
    try:
        header = parse_json("the header", written, HEADER)
        metadata = header.pop("__metadata__", {})
        tensors = [_tensor(name, entry, 8 + length) for name, entry in header.items()]
    except (InputError, ValueError) as error:
        raise InputError(f"{file}: a damaged header ({error})") from None
    tensors.sort(key=lambda tensor: (tensor.start, tensor.end))
    position = 8 + length
    for tensor in tensors:
        if tensor.start != position:
            raise InputError(f"{file}: {tensor.name}: tensors overlap, or leave a gap")
        position = tensor.end
    if position != size:
        raise InputError(
            f"{file}: {size:,} bytes where the header says {position:,}: the file is cut short or "
            "damaged"
        )
    return TensorFile(file, metadata, tensors)


def _tensor(name: str, entry: dict[str, Any], start: int) -> Tensor:
    dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in BYTES_OF:
        raise ValueError(f"{name}: volt does not know the type {dtype!r}")
    if end - begin != math.prod(shape) * BYTES_OF[dtype]:
        raise ValueError(f"{name}: {end - begin} bytes for the shape {shape}")
    return Tensor(name, dtype, tuple(shape), start + begin, start + end)


def _find_tables(files: list[TensorFile], rows: int, config: dict[str, Any]) -> dict[str, int]:
    """The tensors with a row for every token: by name and shape. One with that shape and another
    name is refused, unless the number may be there for another reason."""
    dimensions = {
        n * factor
        for key, value in config.items()
        if key not in ("vocab_size", "decoder_vocab_size") and not ID_KEY.search(key)
        for n in _flat(list(value.values()) if isinstance(value, dict) else value)
        if type(n) is int
        for factor in (1, 2, 3, 4)
    }
    tables: dict[str, int] = {}
    for file in files:
        for tensor in file.tensors:
            is_input = is_called(tensor.name, INPUT_NAMES)
            if rows in tensor.shape and (is_input or is_called(tensor.name, OUTPUT_NAMES)):
                tables[tensor.name] = tensor.shape.index(rows)
                if tensor.dtype not in STORED_AS:
                    raise InputError(
                        f"{file.path}: {tensor.name} is {tensor.dtype}: volt cuts matrices of "
                        f"{', '.join(STORED_AS)}; save the model without quantization"
                    )
            elif is_input:
                raise InputError(
                    f"{file.path}: {tensor.name} has the shape {list(tensor.shape)}, but "
                    f"vocab_size is {rows:,}"
                )
            elif rows in tensor.shape and rows not in dimensions:
                raise InputError(
                    f"{file.path}: {tensor.name} has the shape {list(tensor.shape)}: an axis as "
                    f"long as the vocabulary ({rows:,}), but volt does not know a tensor of this "
                    "name; this model can't be cut"
                )
    if not any(is_called(name, INPUT_NAMES) for name in tables):
        raise InputError(
            f"{files[0].path}: no embedding matrix of {rows:,} rows by any name that volt knows "
            f"({', '.join(INPUT_NAMES)}); this model can't be cut"
        )
    return tables


def is_called(name: str, names: tuple[str, ...]) -> bool:
    return any(name == one or name.endswith(f".{one}") for one in names)


# -------------------------------------------------------------------------------------------- write


def _blocks(source: BinaryIO, tensor: Tensor, file: Path) -> Iterator[bytes]:
    source.seek(tensor.start)
    left = tensor.end - tensor.start
    while left:
        block = source.read(min(left, BLOCK))
        if not block:
            raise InputError(f"{file}: {tensor.name}: cut short")
        left -= len(block)
        yield block


def table_rows(checkpoint: Checkpoint, name: str) -> NDArray[np.float64]:
    """The rows of a table, for computing with them."""
    for file in checkpoint.files:
        for tensor in file.tensors:
            if tensor.name == name:
                with open_file(file.path) as source:
                    table = _read_table(source, tensor, file.path)
                rows = np.moveaxis(table, checkpoint.tables[name], 0)
                return _as_floats(rows).astype(np.float64)
    raise InputError(f"{checkpoint.folder}: no tensor {name}")


def _read_table(source: BinaryIO, tensor: Tensor, file: Path) -> NDArray[Any]:
    data = b"".join(_blocks(source, tensor, file))
    return np.frombuffer(data, STORED_AS[tensor.dtype]).reshape(tensor.shape)


def _new_table(
    table: NDArray[Any], axis: int, tensor: Tensor, rows: NewRows, file: Path
) -> NDArray[Any]:
    """The rows of kept tokens as they are, and after them means for the added ones."""
    used = np.moveaxis(table, axis, 0)
    kept = used[rows.kept]
    if not np.isfinite(_as_floats(kept)).all():
        raise InputError(f"{file}: {tensor.name} has numbers that are not finite: a damaged model")
    if rows.init is not None and used.ndim == 2:
        means = list(rows.init(tensor.name, _as_floats(used).astype(np.float32)))
    else:
        every = slice(None)  # for a token that is made of nothing
        means = [_as_floats(used[numbers or every]).mean(axis=0, dtype=np.float64)
                 for numbers in rows.parts]  # fmt: skip
    if tensor.dtype == "BF16":
        added = [_to_bfloat16(one) for one in means]
    else:
        added = [np.asarray(one).astype(table.dtype) for one in means]
    whole = np.concatenate([kept, np.stack(added)]) if added else kept
    return np.ascontiguousarray(np.moveaxis(whole, 0, axis))


def _as_floats(table: NDArray[Any]) -> NDArray[Any]:
    if table.dtype != np.uint16:
        return table
    return (table.astype(np.uint32) << 16).view(np.float32)


def _to_bfloat16(values: NDArray[np.float64]) -> NDArray[np.uint16]:
    """The nearest, and of two as near the even one."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _with_size(data: dict[str, Any], rows: int, size: int) -> dict[str, Any]:
    return {
        key: size if key in ("vocab_size", "decoder_vocab_size") and value == rows else value
        for key, value in data.items()
    }


def _write_json(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
