"""Small tokenizers of every kind that people have, built by the real libraries."""

import base64
import io
import json
import random
from functools import lru_cache
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, trainers

from volt.counting.marks import BYTE_LETTERS
from volt.counting.words import PRETOKENIZERS
from volt.foreign.check_lines import built_in

DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+"
    "|\\s+(?!\\S)|\\s+",
]
"""As the file of DeepSeek V3 writes them: line breaks as themselves."""
UNUSED_BYTES = (0xC0, 0xC1, *range(0xF5, 0x100))
"""UTF-8 has none of these, so that a trainer without an alphabet never sees them."""


@lru_cache
def corpus() -> tuple[str, ...]:
    """Some of the built-in texts, and words that repeat."""
    draw = random.Random(7)
    words = [
        "the",
        "of",
        "and",
        "der",
        "die",
        "und",
        "return",
        "self",
        "    if",
        "дом",
        "了",
        "です",
    ]
    lines = [" ".join(draw.choices(words, k=12)) for _ in range(150)]
    return (*built_in()[30:430], *lines)


def trained(model, trainer, *, special=(), lines=None, **parts):
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    tokenizer.train_from_iterator(lines or corpus(), trainer)
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def byte_bpe(pre, size=700, special=("<|endoftext|>",), normalizer=None, **model):
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    return trained(models.BPE(**model), trainer, pre_tokenizer=pre, decoder=decoders.ByteLevel(),
                   **({"normalizer": normalizer} if normalizer else {}))  # fmt: skip


def bytes_only():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern):
    return pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")


def gpt2():
    return byte_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False))


def rewritten(made, change):
    """The tokenizer with another tokenizer.json."""
    data = json.loads(made.to_str())
    change(data)
    return tokenizers.Tokenizer.from_str(json.dumps(data, ensure_ascii=False))


def neox():
    """Bytes that UTF-8 never uses are not there, runs of spaces are added tokens."""

    def without_bytes(data):
        missing = {chr(BYTE_LETTERS[byte]) for byte in UNUSED_BYTES}
        kept = [token for token in data["model"]["vocab"] if token not in missing]
        data["model"]["vocab"] = {token: i for i, token in enumerate(kept)}

    made = rewritten(gpt2(), without_bytes)
    made.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 9)])
    return made


def whisper():
    """A token without text, and special tokens after it."""

    def with_empty(data):
        data["model"]["vocab"][""] = len(data["model"]["vocab"])

    made = rewritten(gpt2(), with_empty)
    made.add_special_tokens(["<|startoftranscript|>", "<|en|>", "<|0.00|>"])
    return made


def codegen():
    """A pattern that volt has no scanner for."""
    return byte_bpe(pre_tokenizers.Sequence([split(r" ?\p{L}{1,5}|\p{N}|."), bytes_only()]))


def falcon():
    return byte_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(True), split("[0-9][0-9][0-9]"),
    ]))  # fmt: skip


def starcoder():
    return byte_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]))  # fmt: skip


def deepseek():
    return byte_bpe(pre_tokenizers.Sequence([*map(split, DEEPSEEK), bytes_only()]))


def llama3():
    pattern = PRETOKENIZERS["byte-level:llama3"].pattern
    return byte_bpe(pre_tokenizers.Sequence([split(pattern), bytes_only()]), ignore_merges=True)


def qwen2():
    pattern = PRETOKENIZERS["byte-level:qwen2"].pattern
    return byte_bpe(pre_tokenizers.Sequence([split(pattern), bytes_only()]),
                    special=("<|endoftext|>", "<|im_start|>"),
                    normalizer=normalizers.NFC())  # fmt: skip


def command_r():
    return byte_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True),
    ]), normalizer=normalizers.NFC())  # fmt: skip


def llama2():
    """As converted from SentencePiece: bytes for unknown characters, runs of spaces."""
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["▁", *"abcdefghijklmnopqrstuvwxyz", "é", "1", "2", "."]
    pairs = [("▁", "▁"), ("▁▁", "▁▁"), ("▁▁▁▁", "▁▁▁▁"), ("▁", "t"), ("h", "e"), ("▁t", "he"),
             ("i", "n"), ("▁", "a"), ("e", "r"), ("r", "e"), ("o", "n"), ("▁▁", "▁")]  # fmt: skip
    tokens += dict.fromkeys(left + right for left, right in pairs if left + right not in tokens)
    model = models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=pairs,
                       unk_token="<unk>", fuse_unk=True, byte_fallback=True)  # fmt: skip
    made = tokenizers.Tokenizer(model)
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                      decoders.Fuse(), decoders.Strip(" ", 1, 0)])  # fmt: skip
    made.add_special_tokens(["<unk>", "<s>", "</s>"])
    return made


def mistral():
    """As newer versions of transformers convert Llama and Mistral."""
    made = llama2()
    made.normalizer = None
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return made


def gemma():
    """Runs of spaces and line ends have equal scores: all ways to make one are merges, the longest
    left part first. They are added tokens as well."""
    made = llama2()
    made.normalizer = normalizers.Replace(" ", "▁")
    made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")

    def with_runs(data):
        vocab = data["model"]["vocab"]
        vocab.setdefault("\n", len(vocab))
        pairs = []
        for letter, most in (("▁", 9), ("\n", 5)):
            for n in range(2, most):
                vocab.setdefault(letter * n, len(vocab))
                pairs += [(letter * i, letter * (n - i)) for i in range(1, n)]
        pairs.sort(key=lambda pair: (-len(pair[0]), -len(pair[1])))
        others = [one for one in data["model"]["merges"] if not {*"".join(one)} <= {"▁"}]
        data["model"]["merges"] = [*pairs, *others]

    made = rewritten(made, with_runs)
    runs = ["▁" * n for n in range(2, 9)] + ["\n" * n for n in range(1, 5)]
    made.add_tokens([AddedToken(run, normalized=False, special=False) for run in runs])
    return made


def bert():
    trainer = trainers.WordPieceTrainer(
        vocab_size=500,
        show_progress=False,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    )
    return trained(
        models.WordPiece(unk_token="[UNK]"), trainer, normalizer=normalizers.BertNormalizer(),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece(),
    )  # fmt: skip


def t5():
    names = ["<pad>", "</s>", "<unk>"]  # in the text, the trainer would learn them again
    trainer = trainers.UnigramTrainer(
        vocab_size=1200, show_progress=False, special_tokens=names, unk_token="<unk>",
    )  # fmt: skip
    return trained(
        models.Unigram(), trainer,
        normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()]),
        pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(),
        lines=[line for line in corpus() if not any(name in line for name in names)],
    )  # fmt: skip


def clip():
    trainer = trainers.BpeTrainer(
        vocab_size=900, show_progress=False, end_of_word_suffix="</w>",
        special_tokens=["<|startoftext|>", "<|endoftext|>"],
        initial_alphabet=[*pre_tokenizers.ByteLevel.alphabet(),
                          *(c + "</w>" for c in pre_tokenizers.ByteLevel.alphabet())],
    )  # fmt: skip
    return trained(
        models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"), trainer,
        normalizer=normalizers.Sequence(
            [normalizers.NFC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " "),
             normalizers.Lowercase()]
        ),
        pre_tokenizer=pre_tokenizers.Sequence([
            pre_tokenizers.Split(tokenizers.Regex(
                r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]"
                r"|[^\s\p{L}\p{N}]+"), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]),
    )  # fmt: skip


def word_level():
    trainer = trainers.WordLevelTrainer(
        vocab_size=200, show_progress=False, special_tokens=["<unk>"]
    )
    return trained(models.WordLevel(unk_token="<unk>"), trainer,
                   pre_tokenizer=pre_tokenizers.Whitespace())  # fmt: skip


HUGGING_FACE = {
    maker.__name__: maker
    for maker in (gpt2, neox, whisper, codegen, falcon, starcoder, deepseek, llama3, qwen2,
                  command_r, llama2, mistral, gemma, bert, t5, clip, word_level)
}  # fmt: skip
REFUSED = {"falcon": "pre_tokenizer", "clip": "pre_tokenizer", "word_level": "model.type"}
"""What can't be converted, and the part that is named."""
OF_VOLT = HUGGING_FACE.keys() - REFUSED.keys() - {"codegen", "t5"}
"""Those that volt's own encoder runs: not where a pattern is run by Python, or sums are rounded."""


@lru_cache
def hugging_face(name: str) -> str:
    return HUGGING_FACE[name]().to_str(pretty=True)


@lru_cache
def sentencepiece_model(kind: str, **options) -> bytes:
    """A model of SentencePiece's trainer."""
    out = io.BytesIO()
    settings = {"vocab_size": 900, "byte_fallback": kind == "bpe", "character_coverage": 0.98}
    settings |= {"hard_vocab_limit": False} if kind == "unigram" else {}
    if kind in ("char", "word"):
        settings = {"vocab_size": 800, "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in corpus() if line.strip() and "\0" not in line]),
        model_writer=out, model_type=kind, minloglevel=2, num_threads=1,
        **(settings | options),
    )  # fmt: skip
    return out.getvalue()


def ranks() -> dict[bytes, int]:
    """tiktoken ranks: bytes, then pairs of what is there."""
    draw = random.Random(3)
    found = [bytes([byte]) for byte in range(256)]
    seeds = [b" ", b"e", b"n", b"t", b"a", b"h", b"r", b"1", b"\n", "д".encode(), b"  "]
    while len(found) < 420:
        new = draw.choice([*seeds, *found[256:]]) + draw.choice([*seeds, *found[256:]])
        if new not in found and len(new) < 9:
            found.append(new)
    return {data: rank for rank, data in enumerate(found)}


def write_ranks(path: Path, known: dict[bytes, int] | None = None) -> Path:
    known = ranks() if known is None else known
    lines = [f"{base64.b64encode(data).decode()} {rank}\n" for data, rank in known.items()]
    path.write_text("".join(lines))
    return path


def write_tekken(path: Path) -> Path:
    entries = [
        {"rank": rank, "token_bytes": base64.b64encode(data).decode(),
         "token_str": data.decode(errors="ignore") or None}
        for data, rank in ranks().items()
    ]  # fmt: skip
    config = {"pattern": PRETOKENIZERS["byte-level:llama3"].pattern, "num_vocab_tokens": 420,
              "default_vocab_size": 410, "default_num_special_tokens": 10,
              "version": "v3"}  # fmt: skip
    path.write_text(json.dumps({"config": config, "vocab": entries, "multimodal": {"a": 1.50}},
                               indent=4))  # fmt: skip
    return path


def write_rwkv(path: Path) -> Path:
    lines = []
    for number, data in enumerate(ranks(), 1):
        try:
            literal = repr(data.decode())
        except UnicodeDecodeError:
            literal = repr(data)
        lines.append(f"{number} {literal} {len(data)}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_pair(folder: Path, data: str, names=("vocab.json", "merges.txt")) -> Path:
    model = json.loads(data)["model"]
    folder.mkdir(exist_ok=True)
    (folder / names[0]).write_text(json.dumps(model["vocab"], ensure_ascii=False))
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    (folder / names[1]).write_text("\n".join(["#version: 0.2", *merges, ""]))
    return folder


def write_opus(folder: Path) -> Path:
    """An OPUS-MT folder with two models that share some pieces."""
    folder.mkdir(exist_ok=True)
    vocab = {"</s>": 0, "<unk>": 1, ">>de<<": 2}
    for name, size in (("source.spm", 900), ("target.spm", 500)):
        data = sentencepiece_model("unigram", vocab_size=size)
        (folder / name).write_bytes(data)
        model = sentencepiece.SentencePieceProcessor(model_proto=data)
        for i in range(3, model.vocab_size()):
            vocab.setdefault(model.id_to_piece(i), len(vocab))
    vocab["<pad>"] = len(vocab)
    (folder / "vocab.json").write_text(json.dumps(vocab, indent=2, ensure_ascii=False))
    config = {"source_lang": "en", "target_lang": "de", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def gguf_file(path, **fields):
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_tokenizer_model(fields["model"])
    if "pre" in fields:
        writer.add_tokenizer_pre(fields["pre"])
    writer.add_token_list(fields["tokens"])
    writer.add_token_types(fields["types"])
    if "scores" in fields:
        writer.add_token_scores(fields["scores"])
    if "merges" in fields:
        writer.add_token_merges(fields["merges"])
    for name in ("unk", "bos", "eos"):
        if name in fields:
            getattr(writer, f"add_{name}_token_id")(fields[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
