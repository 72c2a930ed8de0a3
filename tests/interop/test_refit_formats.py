"""Tokenizers that other libraries trained, refitted and extended: read by these libraries again."""

import json

import pytest
from samples import looked_up, sample_lines
from vocabularies import small_sizes

import volt
from volt import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")
from tokenizers import models, pre_tokenizers, trainers  # noqa: E402

LINES = [" ".join(line.split()).replace("▁", "_") for line in sample_lines()]
LINES = [line for line in LINES if line and "<" not in line]
ON = [LINES[:150]]
SPECIAL = ["[PAD]", "<s>"]


def trained(name, folder):
    """A tokenizer by Hugging Face's own trainers."""
    if name in ("byte-level", "RoBERTa"):
        tok = tokenizers.Tokenizer(models.BPE())
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=name == "RoBERTa")
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=700, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
    elif name == "unigram":
        tok = tokenizers.Tokenizer(models.Unigram())
        tok.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=700, special_tokens=[*SPECIAL, "<unk>"], unk_token="<unk>",
            show_progress=False,
        )  # fmt: skip
    else:
        tok = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        trainer = trainers.WordPieceTrainer(
            vocab_size=700, special_tokens=[*SPECIAL, "[UNK]"], show_progress=False
        )
    tok.train_from_iterator(LINES, trainer)
    tok.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def check(old, result, encode):
    """The library finds what volt finds, with the ids of now; nothing more is unknown."""
    ours = Tokenizer(result.vocabulary)
    before = Tokenizer(old)
    unknown = old.unknown_id
    for line in LINES:
        ids = ours.encode(line)
        assert encode(line) == ids, line
        assert ours.decode(ids) == before.decode(before.encode(line))
    if unknown is not None:
        assert result.id_map[unknown] == result.vocabulary.unknown_id
    assert result.vocabulary.unreachable == []


@pytest.mark.parametrize("name", ["byte-level", "RoBERTa", "unigram", "wordpiece"])
def test_hugging_face(name, tmp_path):
    file = trained(name, tmp_path)
    old, _ = volt.import_vocabulary(file)
    extended = volt.extend(file, ON, 60)
    assert extended.after.tokens < extended.before.tokens
    results = [
        volt.refit(file, ON, size=500),
        volt.refit(file, ON, sizes=small_sizes(old, more=(50, 100, 150, 200))),
        extended,
    ]
    for result in results:
        assert len(result.vocabulary) < len(old) or result.parts
        result.save(tmp_path / "out", force=True)
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
        assert theirs.get_vocab_size() == len(result.vocabulary)
        check(old, result, lambda line, theirs=theirs: theirs.encode(line).ids)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("fallback", [True, False])
def test_sentencepiece(kind, fallback, tmp_path):
    (tmp_path / "text").write_text("\n".join(LINES), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"), model_prefix=str(tmp_path / "sp"), vocab_size=800,
        model_type=kind, normalization_rule_name="identity", remove_extra_whitespaces=False,
        byte_fallback=fallback, character_coverage=1.0, minloglevel=2, split_by_number=True,
        split_by_unicode_script=True, hard_vocab_limit=False,
    )  # fmt: skip
    file = tmp_path / "sp.model"
    old, _ = volt.import_vocabulary(file)
    extended = volt.extend(file, ON, 40)
    assert extended.after.tokens < extended.before.tokens
    results = [
        volt.refit(file, ON, size=620),
        volt.refit(file, ON, sizes=small_sizes(old, more=(50, 100, 150, 200))),
        extended,
    ]
    for result in results:
        result.save(tmp_path / "out", force=True)
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out/sp.model"))
        assert theirs.get_piece_size() == len(result.vocabulary)
        check(old, result, theirs.encode)


def test_tiktoken(tmp_path, monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    # It keeps what it read once under a path, even if the file has changed since.
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    old = volt.learn([LINES], size=700, pretokenizer="byte-level", merge_rule="concat").vocabulary
    volt.export(old, "tiktoken", tmp_path / "r.tiktoken")
    for result in (
        volt.refit(tmp_path / "r.tiktoken", ON, size=450),
        volt.extend(tmp_path / "r.tiktoken", ON, 40),
    ):
        result.save(tmp_path / "out", force=True)
        ranks = load_tiktoken_bpe(str(tmp_path / "out" / "r.tiktoken"))
        settings = json.loads((tmp_path / "out" / "r.tiktoken.json").read_text(encoding="utf-8"))
        theirs = tiktoken.Encoding("volt", mergeable_ranks=ranks, **settings)
        check(old, result, lambda line, theirs=theirs: theirs.encode(line, disallowed_special=()))


def test_unigram_as_sentencepiece(tmp_path):
    """Scores stay, and the unknown character's goes with the lowest."""
    old = looked_up("metaspace", "unigram", "unk")
    file = volt.export(old, "sentencepiece", tmp_path / "x").files[0]
    for result in (volt.refit(file, ON, size=300), volt.extend(file, ON, 60)):
        result.save(tmp_path / "out", force=True)
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "out" / "x.model"))
        ours = Tokenizer(result.vocabulary)
        for text in (*LINES, "☃☃a☃ ☃", "b☃ade"):
            assert theirs.encode(text) == ours.encode(text)
        assert result.vocabulary.unreachable == (old.unreachable if result.parts else [])


def test_unigram_extended_behind_tokens_that_were_added(tmp_path):
    """Ids are places in the model's list: `<mask>`, which is not in it, keeps its own."""
    file = trained("unigram", tmp_path)
    data = json.loads(file.read_text(encoding="utf-8"))
    number = len(data["model"]["vocab"])
    added = {"id": number, "content": "<mask>", "special": True, "single_word": False,
             "lstrip": False, "rstrip": False, "normalized": False}  # fmt: skip
    data["added_tokens"].append(added)
    file.write_text(json.dumps(data), encoding="utf-8")
    result = volt.extend(file, ON, 60)
    result.save(tmp_path / "out")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert theirs.token_to_id("<mask>") == number
    assert theirs.get_vocab_size() == number + 61 == len(result.vocabulary)
    ours = Tokenizer(result.vocabulary)
    texts = [*LINES, "bade <mask> deba<mask>"]
    assert max(max(theirs.encode(text).ids, default=0) for text in texts) > number
    for text in texts:
        assert theirs.encode(text).ids == ours.encode(text, allowed_special="all")
