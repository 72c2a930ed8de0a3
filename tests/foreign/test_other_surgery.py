"""Refit and extend of what neither merges nor is one model: OPUS-MT folders, RWKV vocabularies,
models of words and of characters."""

import json
import warnings

import numpy as np
import pytest
import sentencepiece
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from published import hugging_face, sentencepiece_model, write_opus, write_rwkv

import volt
from volt.base.errors import VoltError
from volt.counting.marks import letter_bytes
from volt.foreign.check_lines import built_in
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import open_original

TEXT = ["the and of the\nreturn self\n    if der die und\n" * 12, "дом 12 the, the. don't"]
NEW = ["quartz vexing jumble quartz vexing polynomial embeddings\n" * 9]
SCRIPT = ["नमस्ते दुनिया नमस्ते " * 9]
TEXTS = [*TEXT, *built_in()]


def kept_pieces_are_the_same(before, after, id_map, texts=TEXTS):
    found = 0
    for text, old, new in zip(texts, before.encode_batch(texts), after.encode_batch(texts),
                              strict=True):  # fmt: skip
        if all(id_map[i] >= 0 for i in old):
            assert [int(id_map[i]) for i in old] == new, text
            found += 1
    return found


# --------------------------------------------------------------------------------------------- RWKV


def test_rwkv_is_refitted_line_by_line(tmp_path):
    path = write_rwkv(tmp_path / "rwkv_vocab.txt")
    before = open_engine(path).engine
    result = volt.refit(path, [TEXT], size=300)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new" / path.name).engine
    assert after.size == 300 == result.after.size
    assert kept_pieces_are_the_same(before, after, result.id_map) > 100
    for text in built_in():
        assert after.decode(after.encode(text)) == text
    # The lines of tokens that stay are the old ones, but for the id.
    literals = [line.partition(" ")[2] for line in path.read_text().splitlines()]
    new = [
        line.partition(" ")[2] for line in (tmp_path / "new" / path.name).read_text().split("\n")
    ]
    assert [one for one in literals if one in {*new}] == new[:-1]
    assert {data for data in after.token_of if len(data) == 1} == {bytes([i]) for i in range(256)}
    smaller = volt.refit(path, [TEXT * 20])
    assert smaller.after.size < before.size and smaller.choice is not None


def test_rwkv_is_extended(tmp_path):
    path = write_rwkv(tmp_path / "rwkv_vocab.txt")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").rstrip(b"\r\n"))
    before = open_engine(path).engine
    result = volt.extend(path, [[*NEW, *SCRIPT]], 20)
    result.save(tmp_path / "new")
    written = (tmp_path / "new" / path.name).read_bytes()
    assert written.startswith(path.read_bytes()) and written.count(b"\r\n") == before.size + 19
    after = open_engine(tmp_path / "new" / path.name).engine
    assert after.names[: before.size] == before.names
    assert result.after.tokens < result.before.tokens
    assert any("longest match" in message for message in result.messages)
    for text in [*NEW, *SCRIPT, *built_in()]:
        assert after.decode(after.encode(text)) == text
    swapped = volt.extend(path, [NEW], 20, swap=True)
    assert swapped.after.size == before.size and swapped.dropped == 20


@pytest.mark.parametrize("way", ["refit", "extend"])
def test_the_folder_that_is_written_is_a_tokenizer(way, tmp_path):
    """Whatever its file is called."""
    rwkv = write_rwkv(tmp_path / "world.txt")
    model = tmp_path / "odd.spm"
    model.write_bytes(sentencepiece_model("char"))
    for path, kind in ((rwkv, "rwkv"), (model, "sentencepiece")):
        size = open_engine(path).engine.size
        text = ["the and of the \u10d0\u10d1\u10d2 return\n" * 12]
        result = volt.refit(path, [text], size=size - 4) if way == "refit" else (
            volt.extend(path, [text], 2))  # fmt: skip
        folder = tmp_path / kind
        result.save(folder)
        opened = open_engine(folder)
        assert opened.engine.kind == kind and opened.engine.size == result.after.size
        assert volt.verify(folder, folder / path.name).same
        assert volt.compare([path, folder], [["the and of"]]).rows[1].size == result.after.size
    (tmp_path / kind / "second.model").write_bytes(model.read_bytes())
    with pytest.raises(VoltError, match=r"second\.model, odd\.spm: name one of them"):
        open_engine(tmp_path / kind)


def test_the_words_of_rwkv_give_its_tokens(tmp_path):
    """Alone as in the text."""
    engine = open_engine(write_rwkv(tmp_path / "rwkv_vocab.txt")).engine
    for text in built_in():
        words = [letter_bytes(word) for word in engine.words(text)]
        assert b"".join(words) == text.encode()
        whole = [word.decode() for word in words if _is_text(word)]
        if len(whole) == len(words):
            assert [i for word in whole for i in engine.encode(word)] == engine.encode(text)


def _is_text(data):
    try:
        return data.decode() is not None
    except UnicodeDecodeError:
        return False


# ------------------------------------------------------------------------------------------ OPUS-MT


def test_both_models_of_an_opus_mt_folder_are_refitted(tmp_path):
    folder = write_opus(tmp_path / "old")
    before = open_engine(folder).engine
    result = volt.refit(folder, [TEXT], size=before.size - 100)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new").engine
    assert after.size == before.size - 100 == result.after.size
    assert kept_pieces_are_the_same(before, after, result.id_map) > 100
    dropped = {before.names[i] for i in np.flatnonzero(result.id_map < 0)}
    for name, side in before.sides.items():
        new = after.sides[name]
        assert {*new.names} == {*side.names} - dropped
        assert new.proto.normalizer_spec == side.proto.normalizer_spec
        for text in TEXTS:
            if side.unknown_id not in side.encode(text):
                assert new.unknown_id not in new.encode(text)
    vocab = json.loads((tmp_path / "new" / "vocab.json").read_text())
    assert vocab["</s>"] == 0 and vocab["<pad>"] == after.size - 1 and ">>de<<" in vocab
    config = (tmp_path / "new" / "tokenizer_config.json").read_bytes()
    assert config == (folder / "tokenizer_config.json").read_bytes()


def test_both_models_of_an_opus_mt_folder_are_extended(tmp_path):
    transformers = pytest.importorskip("transformers")
    folder = write_opus(tmp_path / "old")
    before = open_engine(folder).engine
    result = volt.extend(folder, [[*NEW, *SCRIPT]], 30)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new").engine
    assert after.names[: before.size] == before.names and after.size == before.size + 30
    assert result.after.tokens < result.before.tokens and result.after.unknown == 0
    for name, side in before.sides.items():
        for text in TEXTS:
            old = side.encode(text)
            if side.unknown_id not in old:
                assert len(after.sides[name].encode(text)) <= len(old), text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends sacremoses
        library = transformers.MarianTokenizer.from_pretrained(tmp_path / "new")
    for text in [*NEW, *SCRIPT, "the नमस्ते"]:
        assert library.encode(text, add_special_tokens=False) == after.encode(text)


def test_a_translation_model_is_cut_with_its_folder(tmp_path):
    """The shared table, the bias of the logits, and the ids of the settings."""
    safetensors = pytest.importorskip("safetensors.numpy")
    folder = write_opus(tmp_path / "old")
    size = open_engine(folder).engine.size
    table = np.arange(size * 4, dtype=np.float32).reshape(size, 4)
    bias = np.arange(size, dtype=np.float32)[None]
    safetensors.save_file({"model.shared.weight": table, "final_logits_bias": bias},
                          folder / "model.safetensors")  # fmt: skip
    config = {"model_type": "marian", "vocab_size": size, "pad_token_id": size - 1,
              "decoder_start_token_id": size - 1, "eos_token_id": 0, "d_model": 4,
              "bad_words_ids": [[size - 1]], "tie_word_embeddings": True}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    result = volt.refit(folder, [TEXT], size=size - 100, model=folder)
    result.save(tmp_path / "new")
    model = tmp_path / "new" / "model"
    assert not any("not checked" in message for message in result.messages)
    new = safetensors.load_file(model / "model.safetensors")
    kept = np.flatnonzero(result.id_map >= 0)
    assert np.array_equal(new["model.shared.weight"], table[kept])
    assert np.array_equal(new["final_logits_bias"], bias[:, kept])
    settings_ = json.loads((model / "config.json").read_text())
    assert settings_["pad_token_id"] == size - 101 == settings_["decoder_start_token_id"]
    assert settings_["bad_words_ids"] == [[size - 101]] and settings_["vocab_size"] == size - 100
    for name in ("vocab.json", "source.spm", "target.spm"):
        assert (model / name).read_bytes() == (tmp_path / "new" / name).read_bytes()


def test_opus_mt_folders_that_can_not_be_refitted_name_the_part(tmp_path):
    folder = write_opus(tmp_path / "old")
    (folder / "tokenizer_config.json").write_text('{"separate_vocabs": true}')
    with pytest.raises(VoltError, match=r"separate_vocabs.*compare and verify"):
        volt.refit(folder, [TEXT])
    (folder / "target.spm").write_bytes(sentencepiece_model("bpe"))
    with pytest.raises(VoltError, match=r"target\.spm.*Unigram.*compare and verify"):
        volt.extend(folder, [TEXT], 3)


# ------------------------------------------------------------------------------ words or characters


WHOLE = [
    ("char", {}), ("char", {"user_defined_symbols": "the,▁▁"}),
    ("char", {"byte_fallback": True, "vocab_size": 400}), ("word", {}),
    ("word", {"treat_whitespace_as_suffix": True}), ("WordLevel", {}),
]  # fmt: skip


def write_whole(folder, kind, options):
    if kind == "WordLevel":
        path = folder / "tokenizer.json"
        path.write_text(hugging_face("word_level"), encoding="utf-8")
    else:
        path = folder / "m.model"
        path.write_bytes(sentencepiece_model(kind, **options))
    return path


@pytest.mark.parametrize(("kind", "options"), WHOLE)
def test_models_of_words_and_characters(kind, options, tmp_path):
    path = write_whole(tmp_path, kind, options)
    before = open_engine(path).engine
    what = "characters" if kind == "char" else "words"
    result = volt.refit(path, [TEXT])
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new" / path.name).engine
    assert kept_pieces_are_the_same(before, after, result.id_map) > 5
    assert result.before.tokens == result.after.tokens
    now = "spelled in bytes" if options.get("byte_fallback") else "unknown"
    assert f"{what} that were dropped are {now}" in result.messages[-1]
    used = {i for ids in before.encode_batch(TEXT) for i in ids}
    kept = {*np.flatnonzero(result.id_map >= 0).tolist()}
    assert kept == used | before.named | before.byte_ids | {before.unknown_id}
    assert volt.refit(path, [TEXT], size=before.size - 5).after.size == before.size - 5
    with pytest.raises(VoltError, match="always stay"):
        volt.refit(path, [TEXT], size=before.size + 1)
    with pytest.raises(VoltError, match="do not merge"):
        volt.refit(path, [TEXT], residues=True)


@pytest.mark.parametrize(("kind", "options"), WHOLE)
def test_words_and_characters_that_were_lacking_are_added(kind, options, tmp_path):
    path = write_whole(tmp_path, kind, options)
    before = open_engine(path).engine
    result = volt.extend(path, [[*NEW, *SCRIPT]], 4)
    result.save(tmp_path / "new")
    after = open_engine(tmp_path / "new" / path.name).engine
    assert after.size == before.size + 4 and after.names[: before.size] == before.names
    assert result.after.unknown < result.before.unknown
    assert any("merges nothing" in one for one in result.messages)
    for text, old, new in zip(TEXTS, before.encode_batch(TEXTS), after.encode_batch(TEXTS),
                              strict=True):  # fmt: skip
        if before.unknown_id not in old:
            assert len(new) <= len(old), text
    swapped = volt.extend(path, [[*NEW, *SCRIPT]], 4, swap=True)
    assert swapped.after.size == before.size and swapped.dropped == 4
    with pytest.raises(VoltError, match="that the tokenizer lacks"):
        volt.extend(path, [NEW], 500)


# ------------------------------------------------------------------------------------------- random


words = st.lists(st.sampled_from(["ab", "ba", "a", "b", "aab", "bb", "abab", "ζa", "c"]),
                 min_size=3, max_size=20).map(" ".join)  # fmt: skip


def random_unigram(draw):
    """Pieces that no trainer would choose: one has a character that no other piece has."""
    pieces = draw(st.lists(st.text("ab▁", min_size=2, max_size=4), min_size=6, max_size=20,
                           unique=True))  # fmt: skip
    model = sentencepiece.sentencepiece_model_pb2.ModelProto.FromString(
        sentencepiece_model("unigram", normalization_rule_name="identity")
    )
    del model.pieces[:]
    model.pieces.add(piece="<unk>", type=2)
    for place, piece in enumerate([*"▁abc", "▁ζa", *pieces]):
        model.pieces.add(piece=piece, score=-2.0 - place / 4, type=1)
    model.trainer_spec.vocab_size = len(model.pieces)
    return model.SerializeToString()


@settings(max_examples=15, deadline=None)
@given(st.data(), words, words)
def test_random_unigram_models(tmp_path_factory, data, text, other):
    import sentencepiece.sentencepiece_model_pb2  # noqa: F401

    path = tmp_path_factory.mktemp("random") / "m.model"
    path.write_bytes(random_unigram(data.draw))
    original = open_original(path)
    before = open_engine(path, native=False).engine
    texts = [text, other, "abababab ζa", "aaaaaa bbbb"]
    try:
        result = volt.refit(path, [[text] * 3], size=before.size - 3)
    except VoltError as error:
        assert "tokens that text gives" in str(error) or "has no room" in str(error)
    else:
        after = original.changed(result.change)
        assert "▁ζa" in after.names  # no other piece has this character
        for one in texts:
            old, new = before.encode(one), after.encode(one)
            if before.unknown_id not in old:
                assert after.unknown_id not in new
        kept_pieces_are_the_same(before, after, result.id_map, texts)
    try:
        result = volt.extend(path, [[text] * 3], 2)
    except VoltError as error:
        assert "new tokens that occur" in str(error)
        return
    after = original.changed(result.change)
    for one in texts:
        if before.unknown_id not in before.encode(one):
            assert len(after.encode(one)) <= len(before.encode(one)), one
    assert {*after.encode(text)} & {*range(before.size, after.size)}, "no new token comes out"


def random_word_piece(draw):
    """Pieces that no trainer would choose: of some, not all shorter ones are there."""
    pieces = draw(st.lists(st.text("ab", min_size=2, max_size=4), min_size=6, max_size=20,
                           unique=True))  # fmt: skip
    inner = draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    marked = [
        f"##{piece}" if inside else piece for piece, inside in zip(pieces, inner, strict=True)
    ]
    listed = ["[UNK]", *"abc", "##a", "##b", "##c", *marked]
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(
        {piece: number for number, piece in enumerate(listed)}, unk_token="[UNK]"
    ))  # fmt: skip
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made.to_str()


@settings(max_examples=15, deadline=None)
@given(st.data(), words, words)
def test_random_word_pieces(tmp_path_factory, data, text, other):
    path = tmp_path_factory.mktemp("random") / "tokenizer.json"
    path.write_text(random_word_piece(data.draw))
    original = open_original(path)
    before = open_engine(path, native=False).engine
    texts = [text, other, "abababab ζa", "aaaaaa bbbb"]
    try:
        result = volt.refit(path, [[text] * 3], size=before.size - 3)
    except VoltError as error:
        assert "tokens that text gives" in str(error) or "has no room" in str(error)
    else:
        after = original.changed(result.change)
        kept_pieces_are_the_same(before, after, result.id_map, texts)
        for one in texts:
            unknown = before.encode(one).count(before.unknown_id)
            assert after.encode(one).count(after.unknown_id) == unknown
    try:
        result = volt.extend(path, [[text] * 3], 2)
    except VoltError as error:
        assert "new tokens that occur" in str(error)
        return
    after = original.changed(result.change)
    assert after.encode(text).count(after.unknown_id) <= before.encode(text).count(
        before.unknown_id
    )
    if before.unknown_id not in before.encode(text):
        assert len(after.encode(text)) <= len(before.encode(text))
    assert {*after.encode(text)} & {*range(before.size, after.size)}, "no new token comes out"


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_no_new_token_has_a_nul(kind, tmp_path):
    """SentencePiece reads no model with one."""
    path = tmp_path / "a.model"
    options = {"byte_fallback": False} if kind == "bpe" else {}
    path.write_bytes(sentencepiece_model(kind, **options))
    number = 2 if kind == "char" else 4
    result = volt.extend(path, [["x\0y \0\0\0 𠀀𠀀𠀀 x\0y 𠀀𠀀𠀀", "𠀁𠀁𠀁 𠀁 𠀀"] * 9], number)
    result.save(tmp_path / "out")
    assert open_engine(tmp_path / "out" / "a.model", native=False).engine.encode("x\0y 𠀀𠀀𠀀")
    assert not any("\0" in one.text for one in result.added)
