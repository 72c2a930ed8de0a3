"""Vocabularies that transport selected: the same ids in the libraries that read them, on text that
was not used in training."""

import lzma

import pytest
from samples import sample_lines
from test_look_up_formats import equal, hugging_face, processor, round_trip

import volt

pytest.importorskip("tokenizers")
pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")

OTHER = ["☃☃☃a☃ ☃", "Größenwahn überall, 12345!", "unbelievably antidisestablishmentarian"]


def selected(pretokenizer="metaspace", **options):
    """From every second line, so that half of the sample is new."""
    result = volt.learn(
        [sample_lines()[::2]], select="transport", pretokenizer=pretokenizer, threads=1, splits=1,
        **options,
    )  # fmt: skip
    assert result.vocabulary.unreachable == []
    return result.vocabulary


@pytest.mark.parametrize("unknown", ["byte", "unk"])
def test_the_same_ids_in_both_libraries(unknown, tmp_path):
    vocabulary = selected(unknown=unknown, size=600, coverage=0.999)
    result = volt.export(vocabulary, "sentencepiece", tmp_path / "x")
    assert not result.messages
    equal(vocabulary, processor(result.files[0]), [*OTHER, "<unk> <s> <0x41>"])
    equal(vocabulary, hugging_face(vocabulary, tmp_path), OTHER)
    round_trip(vocabulary, "hf", "", tmp_path)


def test_bytes_as_unigram_of_hugging_face(tmp_path):
    vocabulary = selected("byte-level", size=500)
    equal(vocabulary, hugging_face(vocabulary, tmp_path), OTHER)


def test_real_text(volt_data, tmp_path):
    """Learned from training text with few characters, so that held-out lines need byte tokens."""
    train = volt_data("multi30k/train.de")
    vocabulary = volt.learn(
        [str(train)], select="transport", size=2000, coverage=0.999, splits=1
    ).vocabulary
    files = volt.export(vocabulary, "sentencepiece", tmp_path / "x").files
    path = volt_data("multi30k/test.de")
    data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = data.decode().splitlines()
    ids = volt.Tokenizer(vocabulary).encode_batch(lines)
    assert any(vocabulary.tokens[one].kind == "byte" for line in ids for one in line)
    assert [list(line) for line in ids] == processor(files[0])(lines)
    assert [list(line) for line in ids] == [*map(hugging_face(vocabulary, tmp_path), lines)]


@pytest.mark.parametrize("form", ["tiktoken", "subword-nmt", "gpt2"])
def test_formats_of_merges_are_refused_with_the_alternative(form, tmp_path):
    vocabulary = selected(size=500)
    with pytest.raises(volt.SettingsError, match=r"looks tokens up.*`select='merges'`"):
        volt.export(vocabulary, form, tmp_path / "x")
    assert not [*tmp_path.iterdir()]
