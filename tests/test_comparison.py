"""volt.compare: figures against slow ones, every kind of vocabulary."""

import math
import random
from collections import Counter

import pytest
import sentencepiece
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

import volt
from volt.comparison import compare, overlap
from volt.foreign.engine_choice import open_engine


def corpus(seed, lines=300):
    generator = random.Random(seed)
    syllables = [a + b for a in "bdfgkst" for b in "aeiou"]
    types = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(200)]
    return [
        " ".join(types[int(len(types) * generator.random() ** 2)] for _ in range(7)) + " ."
        for _ in range(lines)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """volt's own in all modes, exports of one, and models that volt cannot read."""
    folder = tmp_path_factory.mktemp("compare")
    (folder / "train").write_text("\n".join(corpus(1)) + "\n")
    (folder / "test").write_text("\n".join([*corpus(1, 40), "ŵ b1 日本"]) + "\n", encoding="utf-8")
    first = {"metaspace": 274, "whitespace": 22, "byte-level": 260}  # rows without merges
    for mode, rows in first.items():
        sizes = range(rows + 40, rows + 161, 40)
        result = volt.learn([folder / "train"], sizes=sizes, merges=300, pretokenizer=mode)
        result.save(folder / mode, report=False)
    vocabulary = volt.load_vocabulary(folder / "metaspace")
    volt.export(vocabulary, "hf", folder / "hf")
    volt.export(vocabulary, "sentencepiece", folder / "same.model")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "train"), model_prefix=str(folder / "unigram"), vocab_size=120,
        model_type="unigram", minloglevel=2, add_dummy_prefix=False,
    )  # fmt: skip
    pieces = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer()
    pieces.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.BertPreTokenizer(), pre_tokenizers.Digits()]
    )
    trainer = trainers.WordPieceTrainer(
        vocab_size=150, special_tokens=["[UNK]"], show_progress=False
    )
    pieces.train([str(folder / "train")], trainer)
    pieces.save(str(folder / "wordpiece.json"))
    return folder


def test_every_figure_of_a_vocabulary(folder):
    lines = (folder / "test").read_text(encoding="utf-8").splitlines()
    row = compare([folder / "metaspace"], [folder / "test"]).rows[0]
    tokenizer = volt.load(folder / "metaspace")
    ids = [i for line in lines for i in tokenizer.encode(line)]
    words = [word for line in lines for word in line.split()]
    shares = [count / len(ids) for count in Counter(ids).values()]
    assert row.size == len(tokenizer)
    assert row.tokens == len(ids)
    assert row.tokens_per_word == pytest.approx(len(ids) / len(words))
    whole = (folder / "test").read_text(encoding="utf-8")
    assert row.bytes_per_token == pytest.approx(len(whole.encode()) / len(ids))
    assert row.entropy_per_character == pytest.approx(
        -sum(p * math.log(p) for p in shares) * len(ids) / len(whole)
    )
    assert row.renyi_efficiency == pytest.approx(
        math.log(sum(p**2.5 for p in shares)) / -1.5 / math.log(len(tokenizer))
    )
    single = sum(len(tokenizer.encode(word)) == 1 for word in words)
    assert row.single_token_words == pytest.approx(single / len(words))
    spelled = sum(tokenizer.vocabulary.tokens[i].kind == "byte" for i in ids)
    assert spelled > 0
    assert row.in_bytes == pytest.approx(spelled / len(ids))
    assert row.unknown == 0  # no text is lost
    assert row.overlap == 1


def test_a_vocabulary_and_its_exports_are_the_same(folder):
    names = ["metaspace", "hf", "hf/tokenizer.json", "same.model"]
    line = (folder / "test").read_text(encoding="utf-8").replace("\n", " ").strip()
    rows = compare([folder / name for name in names], [[line]]).rows  # volt's own reads lines
    assert {row.encoded_by for row in rows} == {"volt"}
    first = rows[0]
    for row in rows[1:]:
        assert (row.tokens, row.size, row.overlap) == (first.tokens, first.size, 1)
        assert row.single_token_words == first.single_token_words
        assert (row.unknown, row.in_bytes) == (0, first.in_bytes)


def test_a_vocabulary_and_its_exports_are_given_the_same_lines(folder):
    names = ["hf", "metaspace", "same.model", "whitespace"]
    found = compare([folder / name for name in names], [folder / "test"])
    hf, own, model, _ = found.rows
    assert hf.tokens == own.tokens == model.tokens
    assert hf.in_bytes == own.in_bytes == model.in_bytes
    said = "metaspace, whitespace read lines, so all are given lines: "
    assert [one.startswith(said) for one in found.messages] == [True]
    alone = compare([folder / "hf", folder / "byte-level"], [folder / "test"])
    library = tokenizers.Tokenizer.from_file(str(folder / "hf" / "tokenizer.json"))
    whole = (folder / "test").read_text(encoding="utf-8")
    assert alone.rows[0].tokens == len(library.encode(whole).ids) != hf.tokens
    assert alone.messages == []
    assert compare([folder / "metaspace", folder / "whitespace"], [folder / "test"]).messages == []
    # Line ends, which are bytes to it, are not unknown characters.
    ids = library.encode(whole).ids
    end = library.token_to_id("<0x0A>")
    assert end in ids
    spelled = {library.token_to_id(f"<0x{byte:02X}>") for byte in range(256)} - {end}
    assert alone.rows[0].in_bytes == sum(i in spelled for i in ids) / len(ids) > 0
    assert alone.rows[0].unknown == 0
    assert alone.rows[1].in_bytes is None  # all its tokens are bytes or made of them


def test_each_file_is_encoded_as_its_own_library_does(folder):
    unigram, wordpiece = compare(
        [folder / "unigram.model", folder / "wordpiece.json"], [folder / "test"]
    ).rows
    lines = (folder / "test").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines for word in line.split()]
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "unigram.model"))
    ids = model.encode("\n".join(lines))
    assert unigram.encoded_by == "volt"
    assert "the same ids as sentencepiece" in unigram.messages[0]
    assert (unigram.size, unigram.tokens) == (120, len(ids))
    assert unigram.unknown == ids.count(model.unk_id()) / len(ids) > 0
    assert unigram.in_bytes is None
    single = sum(len(model.encode(word)) == 1 for word in words)
    assert unigram.single_token_words == pytest.approx(single / len(words))
    library = tokenizers.Tokenizer.from_file(str(folder / "wordpiece.json"))
    cut = library.encode("\n".join(lines)).ids
    assert wordpiece.encoded_by.startswith("tokenizers ")
    assert wordpiece.tokens == len(cut)
    assert wordpiece.unknown == cut.count(library.token_to_id("[UNK]")) / len(cut) > 0
    single = sum(len(library.encode(word).ids) == 1 for word in words)
    assert wordpiece.single_token_words == pytest.approx(single / len(words))


def test_models_that_look_tokens_up_are_read_where_they_can_be(folder):
    """Such as Unigram with a table."""
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "train"), model_prefix=str(folder / "plain"), vocab_size=120,
        model_type="unigram", minloglevel=2,
    )  # fmt: skip
    row, other = compare([folder / "plain.model", folder / "byte-level"], [folder / "test"]).rows
    lines = (folder / "test").read_text(encoding="utf-8").splitlines()
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "plain.model"))
    assert row.encoded_by == "volt"
    assert row.tokens == len(model.encode("\n".join(lines)))
    assert 0 < other.overlap < 1


def test_overlap_compares_texts_with_their_marks_only_where_both_have_the_same(folder):
    def texts(name):
        vocabulary = volt.load_vocabulary(folder / name)
        return [t.text for t in vocabulary.tokens if t.kind in ("character", "merged")]

    metaspace, bytes_, spaces = (open_engine(folder / name).engine for name in
                                 ("metaspace", "byte-level", "whitespace"))  # fmt: skip
    mine = {text.replace("▁", " ") for text in texts("metaspace")}
    theirs = {text.replace("Ġ", " ") for text in texts("byte-level")}
    assert overlap(metaspace, bytes_) == len(mine & theirs) / len(theirs)
    bare = {text.replace("</w>", "") for text in texts("whitespace")}
    assert overlap(metaspace, spaces) == len({text.strip() for text in mine} & bare) / len(bare)


def test_names_tell_vocabularies_apart(folder):
    rows = compare([folder / "hf" / "tokenizer.json", folder / "metaspace"], [folder / "test"]).rows
    assert [row.name for row in rows] == ["tokenizer.json", "metaspace"]
    (folder / "other").mkdir(exist_ok=True)
    data = (folder / "metaspace" / "volt.json").read_bytes()
    (folder / "other" / "volt.json").write_bytes(data)
    paths = [folder / "metaspace" / "volt.json", folder / "other" / "volt.json"]
    rows = compare(paths, [folder / "test"]).rows
    assert [row.name for row in rows] == ["metaspace/volt.json", "other/volt.json"]
    (folder / "other" / "model").mkdir()
    (folder / "other" / "model" / "volt.json").write_bytes(data)
    (row,) = compare([folder / "other" / "model"], [folder / "test"]).rows
    assert row.name == "other/model"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.model", None, "no such file or folder: .*missing.model$"),
        ("bad.model", b"\x00\x01", "not a SentencePiece model"),
        ("bad.json", b'{"model": 1}', "not a tokenizer.json"),
        ("list.bin", b"\xff\xfe\x00", "list.bin"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_an_error(folder, tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(volt.VoltError, match=words):
        compare([path], [folder / "test"])


def test_the_name_of_a_published_model_is_told_from_a_file(folder):
    for name, short in (("gpt2", "gpt2"), ("meta-llama/Llama-3.1-8B", "Llama-3.1-8B")):
        with pytest.raises(volt.InputError) as told:
            compare([name], [folder / "test"])
        call = f"AutoTokenizer.from_pretrained('{name}').save_pretrained('{short}')"
        assert call in str(told.value)


def test_text_that_cannot_be_compared_on(folder, tmp_path):
    (tmp_path / "empty").write_text("\n \n")
    with pytest.raises(volt.InputError, match="no words"):
        compare([folder / "metaspace"], [tmp_path / "empty"])
    (tmp_path / "bad").write_bytes(b"fine\nbad \xff\n")
    with pytest.raises(volt.InputError, match=r"line 2: invalid UTF-8 .* at offset 9"):
        compare([folder / "metaspace"], [tmp_path / "bad"])
    with pytest.raises(volt.SettingsError, match="at least one"):
        compare([], [tmp_path / "empty"])


def test_text_without_spaces_has_no_figures_per_word(folder, tmp_path):
    text = tmp_path / "ja.txt"
    text.write_text("東京で本を読みます\n昨日は雨が降りました 今日も\n", encoding="utf-8")
    found = compare([folder / "metaspace"], [text])
    assert found.words == 0
    assert (found.rows[0].tokens_per_word, found.rows[0].single_token_words) == (None, None)
    assert found.rows[0].tokens > 0


def test_files_beside_a_vocabulary_of_volt_are_named(folder, tmp_path):
    """As refit and extend write them: the one that is shipped can differ."""
    vocabulary = volt.load_vocabulary(folder / "metaspace")
    volt.export(vocabulary, "hf", tmp_path / "both")
    vocabulary.save(tmp_path / "both" / "volt.json")
    beside = "a vocabulary of volt (volt.json); beside it, not read: tokenizer.json"
    found = [open_engine(folder / "metaspace"), open_engine(tmp_path / "both")]
    assert [one.said for one in found] == ["a vocabulary of volt", beside]
    assert [one.messages for one in found] == [[], [beside]]  # the first says nothing new
