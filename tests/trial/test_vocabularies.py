"""Vocabularies of a trial: every kind spells text and gives it back."""

import io
import random
from dataclasses import replace

import pytest
import sentencepiece
import tokenizers
from cipher import sentences

import volt
from volt.base.errors import InputError, SettingsError
from volt.trial.vocabularies import from_tokenizer, make_vocabulary

LINES = [f"{line}, Über-Maß {number}!" for number, line in enumerate(sentences(400, 0))]
FEW = LINES[:9] * 20


def most_pieces(lines):
    """The largest vocabulary that SentencePiece's Unigram trainer makes of these lines."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=1000, hard_vocab_limit=False,
        model_type="unigram", character_coverage=1.0, normalization_rule_name="identity",
        byte_fallback=True, num_threads=1, minloglevel=2,
    )  # fmt: skip
    return len(sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()))


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ("bpe:380", 380),
        ("spm-bpe:380", 380),
        ("spm-unigram", None),  # what can be made of both texts
        ("wordpiece:120", 120),
        ("byte", 256),
        ("char", len(set("".join(LINES))) + 1),
    ],
)
def test_text_comes_back(spec, size):
    if size is None:
        size = min(most_pieces(LINES), most_pieces(FEW))
        spec = f"{spec}:{size}"
    vocabulary = make_vocabulary(spec, LINES)
    assert vocabulary.size == size
    encoded = vocabulary.encode(LINES)
    assert max(map(max, encoded)) < size
    assert [vocabulary.decode(ids) for ids in encoded] == LINES
    assert vocabulary.digest == make_vocabulary(spec, LINES).digest
    assert vocabulary.digest != make_vocabulary(spec, FEW).digest or spec == "byte"


@pytest.mark.parametrize("spec", ["wordpiece:120", "char"])
def test_what_it_never_saw_is_unknown(spec):
    vocabulary = make_vocabulary(spec, LINES)
    (ids,) = vocabulary.encode(["語彙"])
    assert vocabulary.unknown in ids
    assert all(vocabulary.unknown not in one for one in vocabulary.encode(LINES))


@pytest.mark.parametrize("spec", ["bpe:380", "spm-bpe:380", "spm-unigram"])
def test_what_it_never_saw_is_spelled_in_bytes(spec):
    if spec == "spm-unigram":
        spec = f"{spec}:{most_pieces(LINES)}"
    vocabulary = make_vocabulary(spec, LINES)
    assert vocabulary.unknown is None or spec.startswith("spm")
    (ids,) = vocabulary.encode(["語彙"])
    assert len(ids) == 1 + len("語彙".encode())  # and the mark before the word
    assert vocabulary.decode(ids) == "語彙"


def test_bpe_of_a_size_is_that_of_search():
    """In rows, as everywhere in volt: special tokens, bytes, characters and merges."""
    curve = volt.candidates([LINES], merges=200).curve
    vocabulary = make_vocabulary("bpe:410", LINES)
    tokens = sum(map(len, vocabulary.encode(LINES)))
    assert tokens == curve.tokens[curve.at_size(410)]


def test_folders_and_files_of_others(tmp_path):
    learned = volt.learn([LINES], size=420, unknown="byte")
    learned.save(tmp_path / "out")
    (tmp_path / "raw").write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    expected = volt.load(tmp_path / "out").encode_batch(LINES)
    found = make_vocabulary(str(tmp_path / "out"), LINES)
    assert found.encode(LINES) == expected
    assert found.size == len(learned.vocabulary)
    assert found.name == make_vocabulary(str(tmp_path / "out" / "volt.json"), LINES).name == "out"
    for form, name in (("hf", "folder"), ("sentencepiece", "its.model")):
        volt.export(learned.vocabulary, form, tmp_path / name)
        other = make_vocabulary(str(tmp_path / name), LINES)
        assert other.encode(LINES) == expected
        assert [other.decode(ids) for ids in expected] == LINES
    volt.export(learned.vocabulary, "text", tmp_path / "list.txt")
    listed = make_vocabulary(str(tmp_path / "list.txt"), LINES)
    assert [listed.decode(ids) for ids in listed.encode(LINES)] == LINES


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("bpe:20000", "name a size between"),
        ("bpe:3", "name a size between"),
        ("bpe", "name a size, such as bpe:8000"),
        ("bpe:-4", "name a size"),
        ("char:5", "char has no size"),
        ("nothing/", "no such file or folder"),
        ("unigram:500", "no such file or folder"),
        ("spm-bpe:3", "SentencePiece says"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, words):
    with pytest.raises((InputError, SettingsError), match=words):
        make_vocabulary(spec, LINES)


def test_results_name_no_places_and_no_name_twice(tmp_path):
    pytest.importorskip("torch", reason="needs torch: make large")
    from volt.trial.run import make_vocabularies

    for place in ("a", "b"):
        volt.learn([LINES]).save(tmp_path / place / "out")
    specs = [str(tmp_path / "a" / "out"), "char", str(tmp_path / "b" / "out"), "char"]
    assert [one.name for one in make_vocabularies(specs, LINES)] == ["out", "char", "out (2)"]


def test_a_vocabulary_for_each_side_is_refused(tmp_path):
    for side in ("source", "target"):
        volt.learn([LINES]).save(tmp_path / side)
    with pytest.raises(SettingsError, match="learn one from both sides"):
        make_vocabulary(str(tmp_path), LINES)


def test_padding_and_longest_lines_of_a_tokenizer_file_are_not_for_a_trial(tmp_path):
    words = tokenizers.models.WordLevel({"a": 0, "b": 5, "[UNK]": 2}, unk_token="[UNK]")
    other = tokenizers.Tokenizer(words)
    other.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    other.enable_padding(length=8)
    other.enable_truncation(4)
    other.save(str(tmp_path / "tokenizer.json"))
    found = make_vocabulary(str(tmp_path / "tokenizer.json"), LINES)
    assert found.encode(["a b", "a b a b a b"]) == [[0, 5], [0, 5] * 3]
    assert found.size == 6  # the model needs a row for every id, also for one without a token


def test_what_cuts_text_otherwise_is_another_vocabulary():
    vocabulary = volt.learn([LINES], size=420).vocabulary
    tokens = list(vocabulary.tokens)
    last = tokens[-1]
    digests = {
        from_tokenizer("x", volt.Tokenizer(one)).digest
        for one in (
            vocabulary,
            replace(vocabulary, signature="another"),  # the same
            replace(vocabulary, merge_rule="pairs"),
            replace(vocabulary, word_ends="spaces"),
            replace(vocabulary, tokens=[*tokens[:-1], last._replace(rank=last.rank + 1)]),
        )
    }
    assert len(digests) == 4


@pytest.mark.parametrize("name", ["x.model", "tokenizer.json"])
def test_a_damaged_file_is_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(random.Random(0).randbytes(200))
    with pytest.raises(InputError, match="SentencePiece" if name == "x.model" else "invalid UTF-8"):
        make_vocabulary(str(path), LINES)
