"""Every kind of tokenizer that people have: the engine gives the ids of its own library."""

import json
import re
import unicodedata
import warnings

import pytest
import sentencepiece
import tiktoken
import tokenizers
from published import (
    HUGGING_FACE,
    OF_VOLT,
    bytes_only,
    gguf_file,
    hugging_face,
    ranks,
    sentencepiece_model,
    split,
    write_opus,
    write_pair,
    write_ranks,
    write_rwkv,
    write_tekken,
)
from tokenizers import pre_tokenizers

import volt
from volt.base.errors import InputError, SettingsError, VoltError
from volt.base.extras import need
from volt.counting.marks import letter_bytes
from volt.counting.words import PRETOKENIZERS
from volt.foreign.base import library_errors
from volt.foreign.check_lines import NUMBER, built_in
from volt.foreign.engine_choice import open_engine
from volt.foreign.examine import UNICODE_EXPANSION
from volt.foreign.facts import tokenizer_facts
from volt.foreign.tiktoken import TikToken
from volt.formats.detect import identify
from volt.formats.tiktoken import read_ranks

TEXTS = ["The quick brown fox\n\n    if self.x == 12345:\n\treturn None\r\n", "один два  три", ""]


def same(engine, expected, texts=None):
    texts = [*built_in(), *TEXTS] if texts is None else texts
    found = engine.encode_batch(texts)
    for text, ids, other in zip(texts, found, map(expected, texts), strict=True):
        assert ids == other, text


def test_the_built_in_texts_are_2000_and_always_the_same():
    texts = built_in()
    assert len(texts) == NUMBER == 2000
    assert len(set(texts)) > 1900
    assert texts is built_in() and built_in(("<x>",)) != texts
    assert any("<x>" in text for text in built_in(("<x>",)))
    assert all(text.encode() is not None for text in texts)  # no lone surrogates


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_a_tokenizer_json_of_any_kind(name, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(hugging_face(name), encoding="utf-8")
    library = tokenizers.Tokenizer.from_file(str(path))

    def expected(text):
        return library.encode(text, add_special_tokens=False).ids

    opened = open_engine(path, texts=TEXTS)
    same(opened.engine, expected)
    if name in OF_VOLT:
        assert opened.engine.library == "volt", opened.said
    if opened.engine.library != "volt":
        assert opened.said.startswith("a tokenizer.json of Hugging Face, encoded by tokenizers")
        reasons = (": not by volt", "volt gives other ids", "in Python, which is slower")
        assert any(reason in opened.said for reason in reasons)
    same(open_engine(path, native=False).engine, expected)
    # The words are what the model sees: each alone gives the ids of the text.
    own = open_engine(path, native=False).engine
    ids = [i for word in own.words("the self 12, don't") for token in [own.tokenizer.model]
           for i in (one.id for one in token.tokenize(word))]  # fmt: skip
    assert ids == expected("the self 12, don't")


def test_a_model_without_its_type(tmp_path):
    """Older files do not say it."""
    for name in ("gpt2", "bert", "t5"):
        data = json.loads(hugging_face(name))
        kind = data["model"].pop("type")
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(data))
        engine = open_engine(path, native=False).engine
        assert engine.model_type == kind
        library = tokenizers.Tokenizer.from_str(hugging_face(name))
        same(engine, lambda text, of=library: of.encode(text, add_special_tokens=False).ids)


def test_merges_are_not_left_out_by_chance(tmp_path):
    """Dropout is for training: the same text has the same ids."""
    data = json.loads(hugging_face("gpt2"))
    data["model"]["dropout"] = 0.5
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    library = tokenizers.Tokenizer.from_str(hugging_face("gpt2"))
    for native in (True, False):
        opened = open_engine(path, native=native)
        assert "model.dropout 0.5 is for training: switched off" in opened.messages
        same(opened.engine, lambda text: library.encode(text, add_special_tokens=False).ids)
    assert volt.verify(path, path).same


def test_the_files_beside_a_tokenizer_json_are_honoured(tmp_path):
    (tmp_path / "tokenizer.json").write_text(hugging_face("gpt2"))
    size = len(json.loads(hugging_face("gpt2"))["model"]["vocab"])
    flags = {"lstrip": True, "rstrip": False, "normalized": False, "single_word": False}
    config = {"added_tokens_decoder": {str(size): {"content": "<new>", **flags, "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<newer>": size + 1}))
    (tmp_path / "vocab.json").write_text("{}")  # tokenizer.json wins
    opened = open_engine(tmp_path)
    assert opened.engine.encode("a <new>b<newer>")[1] == size
    assert opened.engine.encode("<newer>") == [size + 1]
    library = tokenizers.Tokenizer.from_str(hugging_face("gpt2"))
    library.add_special_tokens([tokenizers.AddedToken("<new>", lstrip=True, normalized=False)])
    library.add_special_tokens([tokenizers.AddedToken("<newer>", normalized=False)])
    same(opened.engine, lambda text: library.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bpe", {}), ("unigram", {}), ("char", {}), ("word", {}),
        ("bpe", {"add_dummy_prefix": False}),
        ("bpe", {"normalization_rule_name": "identity", "remove_extra_whitespaces": False,
                 "allow_whitespace_only_pieces": True, "split_digits": True}),
        ("unigram", {"user_defined_symbols": "<x>,▁▁", "control_symbols": "<c>"}),
        ("unigram", {"treat_whitespace_as_suffix": True}),
        ("bpe", {"split_by_whitespace": False}),
        ("unigram", {"normalization_rule_name": "nmt_nfkc_cf"}),
    ],
)  # fmt: skip
def test_sentencepiece_of_every_type(kind, options, tmp_path):
    path = tmp_path / "some.model"
    path.write_bytes(sentencepiece_model(kind, **options))
    library = sentencepiece.SentencePieceProcessor(model_file=str(path))
    opened = open_engine(path, texts=TEXTS)
    same(opened.engine, library.encode)
    own = open_engine(path, native=False).engine
    assert own.library.startswith("sentencepiece")
    same(own, library.encode)


def test_added_tokens_beside_a_sentencepiece_model(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(sentencepiece_model("bpe"))
    size = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model("bpe")).vocab_size()
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<|im_end|>": size}))
    engine = open_engine(tmp_path).engine
    assert engine.size == size + 1
    assert engine.encode("a<|im_end|>") == [*engine.encode("a"), size]


def test_ranks_and_a_tokenizer_model_that_is_tiktoken(tmp_path):
    pattern = PRETOKENIZERS["byte-level:llama3"].pattern
    library = tiktoken.Encoding(
        name="x", pat_str=pattern, mergeable_ranks=ranks(), special_tokens={}
    )
    for name in ("tokenizer.model", "some.tiktoken", "plain"):
        path = write_ranks(tmp_path / name)
        assert identify(path).kind == "tiktoken"
        with pytest.raises(SettingsError, match=r"420 ranks.*`pattern`"):
            open_engine(path)
        for given in ("byte-level:llama3", pattern):
            same(open_engine(path, pattern=given).engine, library.encode_ordinary)
    (tmp_path / "plain.json").write_text(
        json.dumps({"pat_str": pattern, "special_tokens": {"<e>": 420}})
    )
    engine = open_engine(tmp_path / "plain").engine
    same(engine, library.encode_ordinary)
    assert engine.size == 421
    words = open_engine(tmp_path / "plain", native=False).engine.words("don't 1234")
    assert words == ["don", "'t", "Ġ", "123", "4"]


def test_tekken(tmp_path):
    path = write_tekken(tmp_path / "tekken.json")
    kept = {data: rank for data, rank in ranks().items() if rank < 400}
    library = tiktoken.Encoding(
        name="x", pat_str=PRETOKENIZERS["byte-level:llama3"].pattern, mergeable_ranks=kept,
        special_tokens={},
    )  # fmt: skip
    engine = open_engine(path).engine
    assert engine.size == 410
    same(engine, lambda text: [i + 10 for i in library.encode_ordinary(text)])
    assert engine.decode(engine.encode("the 12")) == "the 12"


@pytest.mark.parametrize(
    ("class_name", "data"),
    [("GPT2Tokenizer", "gpt2"), ("Qwen2Tokenizer", "qwen2"), ("CLIPTokenizer", "clip")],
)
def test_two_files_are_read_as_the_class_of_their_config_does(class_name, data, tmp_path):
    transformers = pytest.importorskip("transformers")
    folder = write_pair(tmp_path / "pair", hugging_face(data))
    with pytest.raises(SettingsError, match="`pattern`: one of byte-level"):
        open_engine(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MyTokenizer"}))
    with pytest.raises(SettingsError, match="MyTokenizer"):
        open_engine(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": class_name}))
    library = getattr(transformers, class_name).from_pretrained(folder)
    opened = open_engine(folder)
    same(opened.engine, lambda text: library.encode(text, add_special_tokens=False))
    assert f"tokenizer_config.json names {class_name}" in opened.messages


def test_the_old_names_of_gpt2s_files(tmp_path):
    folder = write_pair(tmp_path / "pair", hugging_face("gpt2"), ("encoder.json", "vocab.bpe"))
    library = tokenizers.Tokenizer.from_str(hugging_face("gpt2"))
    for path in (folder, folder / "encoder.json", folder / "vocab.bpe"):
        assert identify(path).kind == "gpt2"
        same(open_engine(path).engine, lambda text: library.encode(text).ids)


@pytest.mark.parametrize("config", [None, {"do_lower_case": False}, {"strip_accents": False}])
def test_berts_list(config, tmp_path):
    transformers = pytest.importorskip("transformers")
    vocab = json.loads(hugging_face("bert"))["model"]["vocab"]
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in sorted(vocab, key=vocab.get)))
    if config is not None:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    library = transformers.BertTokenizer.from_pretrained(tmp_path, **(config or {}))
    opened = open_engine(path)
    same(opened.engine, lambda text: library.encode(text, add_special_tokens=False))
    assert opened.said.startswith("a vocab.txt of BERT")


def test_an_opus_mt_folder(tmp_path):
    transformers = pytest.importorskip("transformers")
    write_opus(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends sacremoses
        library = transformers.MarianTokenizer.from_pretrained(tmp_path)
    texts = ["the and self", ">>de<< the and", "der die   und"]
    for path in (tmp_path, tmp_path / "vocab.json"):
        assert identify(path).kind == "marian-mt"
        same(open_engine(path).engine,
             lambda text: library.encode(text, add_special_tokens=False), texts)  # fmt: skip


def test_rwkv_takes_the_longest_token(tmp_path):
    path = write_rwkv(tmp_path / "rwkv_vocab.txt")
    token_of = {data: i for i, data in enumerate(ranks(), 1)}

    def expected(text):
        data, ids = text.encode(), []
        while data:
            longest = max((one for one in token_of if data.startswith(one)), key=len)
            ids.append(token_of[longest])
            data = data[len(longest) :]
        return ids

    engine = open_engine(path).engine
    same(engine, expected, [*built_in()[:200], *TEXTS])
    for text in TEXTS:
        assert engine.decode(engine.encode(text)) == text


def test_codes_of_opennmt(tmp_path):
    path = tmp_path / "codes"
    path.write_text("v3;false;true;false;<w>;</w>\nt h\nth e</w>\n")
    engine = open_engine(path).engine
    assert [engine.names[i] for i in engine.encode("the th")] == ["the</w>", "th", "<unk>"][:1] + [
        engine.names[i] for i in engine.encode("th")]  # fmt: skip
    path.write_text("v3;true;false;false;<w>;</w>\nt h\n")
    with pytest.raises(InputError, match="prefix"):
        open_engine(path)


def test_gguf(tmp_path):
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    data = sentencepiece_model("bpe", **options)
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    path = gguf_file(
        tmp_path / "a.gguf", model="llama", tokens=[one.piece for one in proto.pieces],
        types=[one.type for one in proto.pieces], scores=[one.score for one in proto.pieces],
        unk=0, bos=1, eos=2,
    )  # fmt: skip
    library = sentencepiece.SentencePieceProcessor(model_proto=data)
    same(open_engine(path).engine, library.encode)
    model = json.loads(hugging_face("qwen2"))["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    types = [3 if token.startswith("<|") else 1 for token in tokens]
    path = gguf_file(tmp_path / "b.gguf", model="gpt2", pre="qwen2", tokens=tokens, types=types,
                     merges=merges)  # fmt: skip
    own = tokenizers.Tokenizer.from_str(hugging_face("qwen2"))
    own.normalizer = None  # llama.cpp has none
    same(open_engine(path).engine, lambda text: own.encode(text).ids)
    path = gguf_file(tmp_path / "c.gguf", model="gpt2", pre="new", tokens=tokens, types=types,
                     merges=merges)  # fmt: skip
    with pytest.raises(SettingsError, match=r"'new'.*`pattern`"):
        open_engine(path)
    same(open_engine(path, pattern="byte-level:qwen2").engine, lambda text: own.encode(text).ids)
    (tmp_path / "d.gguf").write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 40)
    with pytest.raises(InputError, match="GGUF"):
        open_engine(tmp_path / "d.gguf")


def columns_of(name):
    """The vocabulary of a tokenizer.json as GGUF has it."""
    data = json.loads(hugging_face(name))
    model, added = data["model"], {one["content"]: one for one in data["added_tokens"]}
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [one if isinstance(one, str) else " ".join(one) for one in model["merges"]]
    types = [4 - added[token]["special"] if token in added else 6 if re.fullmatch("<0x..>", token)
             else 1 for token in tokens]  # fmt: skip
    return {"tokens": tokens, "merges": merges, "types": types}


DEEPSEEK_CODER = [split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                  split("[一-龥ࠀ-一가-\ud7ff]+"), pre_tokenizers.Digits(individual_digits=True),
                  bytes_only()]  # fmt: skip
FALCON = [
    pre_tokenizers.Punctuation("contiguous"),
    pre_tokenizers.ByteLevel(add_prefix_space=False),
    split("[0-9][0-9][0-9]"),
]


@pytest.mark.parametrize(
    ("pre", "name", "cuts"),
    [
        ("starcoder", "starcoder", None), ("refact", "starcoder", None),
        ("command-r", "command_r", None), ("falcon", "gpt2", FALCON),
        ("deepseek-v3", "deepseek", None), ("deepseek-coder", "gpt2", DEEPSEEK_CODER),
    ],
)  # fmt: skip
def test_gguf_cuts_as_the_model_that_it_names(pre, name, cuts, tmp_path):
    path = gguf_file(tmp_path / "a.gguf", model="gpt2", pre=pre, **columns_of(name))
    own = tokenizers.Tokenizer.from_str(hugging_face(name))
    own.normalizer = None  # llama.cpp has none
    if cuts is not None:
        own.pre_tokenizer = pre_tokenizers.Sequence(cuts)
    same(open_engine(path).engine, lambda text: own.encode(text).ids)


@pytest.mark.parametrize(
    ("pre", "text", "words"),
    [
        ("qwen35", "नमस्ते e\u0301 12", ["नमस्ते", " e\u0301", " ", "1", "2"]),
        ("deepseek-llm", "Das, 12 漢字\n  ", ["Das", ",", " ", "12", " ", "漢字", "\n", "  "]),
    ],
)  # fmt: skip
def test_gguf_cuts_by_expressions_that_others_do_not_have(pre, text, words, tmp_path):
    path = gguf_file(tmp_path / "a.gguf", model="gpt2", pre=pre, **columns_of("gpt2"))
    engine = open_engine(path, native=False).engine
    assert [letter_bytes(word).decode() for word in engine.words(text)] == words


def test_gguf_of_merges_with_marks_for_spaces(tmp_path):
    path = gguf_file(tmp_path / "a.gguf", model="gemma4", unk=3, **columns_of("gemma"))
    own = tokenizers.Tokenizer.from_str(hugging_face("gemma"))
    same(open_engine(path).engine, lambda text: own.encode(text, add_special_tokens=False).ids)
    engine = open_engine(path, native=False).engine
    assert engine.decode(engine.encode("a  b\n日")) == "a  b\n日"


def test_gguf_with_rows_that_have_no_token(tmp_path):
    data = sentencepiece_model("bpe", normalization_rule_name="identity")
    from sentencepiece import sentencepiece_model_pb2

    pieces = sentencepiece_model_pb2.ModelProto.FromString(data).pieces
    rows = [f"[PAD{i}]" for i in range(3)]
    path = gguf_file(
        tmp_path / "a.gguf", model="llama", tokens=[one.piece for one in pieces] + rows,
        types=[3 if i == 0 else one.type for i, one in enumerate(pieces)] + [2] * 3,
        scores=[one.score for one in pieces] + [-1000.0] * 3, unk=0, bos=1, eos=2,
    )  # fmt: skip
    engine = open_engine(path).engine
    assert len(engine.names) == len(pieces) + 3
    assert not {*engine.encode("[PAD1] the")} & {*range(len(pieces), len(pieces) + 3)}


def test_ranks_with_a_token_without_text(tmp_path):
    """Whisper's file has one, after all others."""
    path = write_ranks(tmp_path / "a.tiktoken")
    path.write_text(path.read_text() + "= 420\n")
    engine = open_engine(path, pattern="byte-level").engine
    assert engine.names[420] == "<|unused-420|>" and 420 in engine.named
    own = tiktoken.Encoding("a", pat_str=PRETOKENIZERS["byte-level"].pattern,
                            mergeable_ranks={**ranks(), b"": 420}, special_tokens={})  # fmt: skip
    same(engine, own.encode_ordinary)
    volt.refit(path, [[*TEXTS]], size=390, pattern="byte-level").save(tmp_path / "b")
    lines = (tmp_path / "b" / "a.tiktoken").read_text().splitlines()
    assert lines[-1] == f"= {len(lines) - 1}"
    path.write_text(path.read_text() + "= 421\n")
    with pytest.raises(InputError, match="line 422: the token '=' is there twice"):
        open_engine(path, pattern="byte-level")


def test_ranks_with_a_gap(tmp_path):
    """GPT-3's file leaves out the end of text, and goes on after it."""
    path = tmp_path / "a.tiktoken"
    moved = {data: rank + (rank >= 400) for data, rank in ranks().items()}
    write_ranks(path, moved)
    vocabulary, messages = volt.import_vocabulary(path, pattern="byte-level")
    assert vocabulary.texts[400] == "<|unused-400|>" and vocabulary.tokens[400].kind == "special"
    assert (
        "1 rank, such as 400, is missing: special tokens here, which text never gives" in messages
    )
    own = tiktoken.Encoding("a", pat_str=PRETOKENIZERS["byte-level"].pattern,
                            mergeable_ranks=moved, special_tokens={})  # fmt: skip
    opened = open_engine(path, pattern="byte-level")
    assert "encoded by volt" in opened.messages[0]
    same(opened.engine, own.encode_ordinary)


def test_published_ranks_are_known_by_their_number(tmp_path):
    path = tmp_path / "a.tiktoken"
    tokens = [bytes([i]) for i in range(256)] + [b"%06d" % i for i in range(200_000 - 256)]
    write_ranks(path, {data: rank for rank, data in enumerate(tokens)})
    assert read_ranks(path).pattern == PRETOKENIZERS["byte-level:o200k"].pattern  # Llama 4


# ----------------------------------------------------------------------------------------- examined


def changed(name, tmp_path, **parts):
    data = json.loads(hugging_face(name)) | {k: v for k, v in parts.items() if k != "model"}
    data["model"] |= parts.get("model", {})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 30}},
         "bytes of one"),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "x" * 9999}},
         "39,998 bytes of one"),
        ({"normalizer": {"type": "Sequence", "normalizers": [
            {"type": "Prepend", "prepend": "a" * 900},
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}]}},
         "3,604 bytes of one"),
        ({"decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 30}},
         "decoder: its steps can make 1,073,741,824 bytes of one"),
        ({"decoder": {"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": ""}] * 30}},
         "decoder: its steps can make"),
        ({"post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                             "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 200}},
         "post_processor: more than 100 parts"),
        ({"added_tokens": [{"id": 4_000_000_000, "content": "x"}]}, "id: 4000000000 is not"),
        ({"added_tokens": {"a": 1}}, "added_tokens"),
        ({"model": {"merges": [["a", "zzz"]]}}, "not a pair of tokens"),
        ({"model": {"vocab": {"a": -1}}}, "vocab.a: -1 is not a whole number"),
        ({"model": {"vocab": 3}}, "vocab: 3 is not a table"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a" * 30_000},
                            "behavior": "Isolated", "invert": False}}, "20,000 characters"),
        ({"pre_tokenizer": {"type": "Nothing"}}, "tokenizers does not read it"),
    ],
)  # fmt: skip
def test_a_file_is_examined_before_a_library_gets_it(parts, words, tmp_path):
    path = changed("gpt2", tmp_path, **parts)
    with pytest.raises(InputError, match=words):
        open_engine(path)


def test_steps_that_expand_a_little_are_fine(tmp_path):
    steps = [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Nmt"},
             {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}]  # fmt: skip
    path = changed("gpt2", tmp_path, normalizer={"type": "Sequence", "normalizers": steps})
    assert open_engine(path).engine.library.startswith("tokenizers")


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_most_that_unicode_expands(form):
    """Of all characters, in bytes."""
    characters = [chr(one) for one in range(0x110000) if not 0xD800 <= one < 0xE000]
    found = max(
        len(unicodedata.normalize(form, one).encode()) / len(one.encode()) for one in characters
    )
    assert UNICODE_EXPANSION[form] == found
    lower = max(len(one.lower().encode()) / len(one.encode()) for one in characters)
    assert UNICODE_EXPANSION["Lowercase"] == lower


def test_an_encoder_that_differs_on_the_users_text_is_not_chosen(tmp_path, monkeypatch):
    (tmp_path / "tokenizer.json").write_text(hugging_face("gpt2"))
    import volt.foreign.volt_engine as native

    original = native.Native.encode_batch

    def wrong(self, texts):
        return [[0] if text == "mine" else ids
                for text, ids in zip(texts, original(self, texts), strict=True)]  # fmt: skip

    monkeypatch.setattr(native.Native, "encode_batch", wrong)
    assert open_engine(tmp_path / "tokenizer.json").engine.library == "volt"
    opened = open_engine(tmp_path / "tokenizer.json", texts=["fine", "mine"])
    assert opened.engine.library.startswith("tokenizers")
    assert opened.said.endswith("volt gives other ids for 'mine'")


class PanicException(BaseException):
    """As libraries in Rust have it."""


def test_too_little_memory_in_a_library_is_not_an_answer():
    """It would be taken for a tokenizer that volt can't encode itself."""
    with pytest.raises(MemoryError), library_errors("x.json: it can't"):
        raise PanicException("Onig: Regex search error: fail to memory allocation")
    with pytest.raises(MemoryError), library_errors("x.json: it can't"):
        raise MemoryError
    with (
        pytest.raises(InputError, match=r"^x\.json: it can't: no such token$"),
        library_errors("x.json: it can't"),
    ):
        raise PanicException("no such token")
    with pytest.raises(KeyboardInterrupt), library_errors("x.json: it can't"):
        raise KeyboardInterrupt


def test_what_a_folder_is_not(tmp_path):
    with pytest.raises(VoltError, match="no tokenizer in this folder"):
        open_engine(tmp_path)
    (tmp_path / "vocab.json").write_text("{}")
    with pytest.raises(VoltError, match=r"merges\.txt is missing, which belongs to vocab\.json"):
        open_engine(tmp_path)
    cut = tmp_path / "tokenizer.json"
    cut.write_text(hugging_face("qwen2")[:300])
    with pytest.raises(VoltError, match=r"not JSON: .*; it seems to be cut short"):
        open_engine(cut)
    (tmp_path / "cut.model").write_bytes(sentencepiece_model("bpe")[:5000])
    with pytest.raises(VoltError, match="not a SentencePiece model, or cut short"):
        open_engine(tmp_path / "cut.model")
    with pytest.raises(SettingsError, match=r"^this needs no_such_package: pip install"):
        need("no_such_package.part", "hf")
    weights = tmp_path / "model.safetensors"
    weights.write_bytes((40).to_bytes(8, "little") + b'{"a": 1}' + b" " * 32)
    with pytest.raises(VoltError, match=r"the weights of a model \(safetensors\), not a tokenizer"):
        open_engine(weights)


def test_a_model_whose_name_ends_with_its_version(tmp_path):
    """As in the folders of Mistral."""
    (tmp_path / "tokenizer.model.v3").write_bytes(sentencepiece_model("bpe"))
    assert identify(tmp_path).kind == "sentencepiece"
    library = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model("bpe"))
    same(open_engine(tmp_path).engine, library.encode, [*TEXTS])
    (tmp_path / "tokenizer.model.v7").write_bytes(b"")
    with pytest.raises(VoltError, match=r"tokenizer\.model\.v3, .*v7: name one of them"):
        open_engine(tmp_path)


def test_what_a_folder_is_beside_what_is_read(tmp_path):
    (tmp_path / "tokenizer.json").write_text(hugging_face("qwen2"))
    for name in ("tokenizer.model", "vocab.json", "merges.txt", "config.json"):
        (tmp_path / name).write_text("{}")
    notes = tokenizer_facts(tmp_path)["notes"]
    assert "also here, not read: merges.txt, tokenizer.model, vocab.json" in notes
    assert not [one for one in tokenizer_facts(tmp_path / "tokenizer.json")["notes"]
                if "also here" in one]  # fmt: skip
    with pytest.raises(VoltError, match="no such file"):
        open_engine(tmp_path / "none")
    assert volt.VoltError is VoltError


@pytest.mark.parametrize("missing", [0, 7, 255])
def test_ranks_need_every_byte(missing):
    bytes_there = [bytes([byte]) for byte in range(256) if byte != missing]
    ranks = {data: rank for rank, data in enumerate(bytes_there)}
    with pytest.raises(InputError, match=f"the byte {missing} is not a token"):
        TikToken("ranks", ranks, r"\S+|\s+", {})
