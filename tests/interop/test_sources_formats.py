"""Vocabularies learned from other candidates: the same ids in the libraries that read them."""

import pytest
from samples import sample_lines
from sizes import rows_with
from test_look_up_formats import equal, hugging_face, processor, round_trip

import volt

pytest.importorskip("tokenizers")
pytest.importorskip("sentencepiece")
pytest.importorskip("google.protobuf")


def fast(pretokenizer, **options):
    """Few sizes, one thread."""
    sizes = rows_with(sample_lines(), 100, 200, 400, pretokenizer=pretokenizer, **options)
    return {"pretokenizer": pretokenizer, "sizes": sizes, "threads": 1, **options}


def learned(source, encoding, pretokenizer="metaspace", **options):
    result = volt.learn(
        [sample_lines()], candidates=source, encoding=encoding, **fast(pretokenizer, **options)
    )
    assert result.vocabulary.unreachable == []
    return result.vocabulary


@pytest.mark.parametrize("source", ["unigram:600", "substring:600"])
@pytest.mark.parametrize("unknown", ["byte", "unk"])
def test_unigram_in_both_libraries(source, unknown, tmp_path):
    vocabulary = learned(source, "unigram", unknown=unknown, coverage=0.999)
    result = volt.export(vocabulary, "sentencepiece", tmp_path / "x")
    assert not result.messages
    equal(vocabulary, processor(result.files[0]), ["☃☃☃a☃ ☃", "<unk> <s> <0x41>"])
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["☃☃☃a☃ ☃"])
    round_trip(vocabulary, "hf", "", tmp_path)


def test_bytes_as_unigram_of_hugging_face(tmp_path):
    vocabulary = learned("bpe:600", "unigram", "byte-level")
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["☃☃☃a☃ ☃"])


@pytest.mark.parametrize("pretokenizer", ["whitespace", "metaspace", "byte-level"])
def test_longest_as_word_piece(pretokenizer, tmp_path):
    unknown = None if pretokenizer == "byte-level" else "unk"
    vocabulary = learned("wordpiece:600", "longest", pretokenizer, unknown=unknown)
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["##bade ## #", "a" * 500])
    round_trip(vocabulary, "hf", "", tmp_path)


def test_word_piece_merges_as_bpe(tmp_path):
    vocabulary = learned("wordpiece:600", "merge", "whitespace")
    equal(vocabulary, hugging_face(vocabulary, tmp_path), ["##bade ## #"])


def test_what_can_not_be_exported_is_refused(tmp_path):
    longest = learned("substring:300", "longest")
    with pytest.raises(volt.SettingsError, match="volt encode takes it as it is"):
        volt.export(longest, "sentencepiece", tmp_path / "x")
    with pytest.raises(volt.SettingsError, match="`unknown='unk'`"):
        volt.export(longest, "hf", tmp_path / "x")
    marked = learned("substring:300", "unigram", "whitespace")
    with pytest.raises(volt.SettingsError, match="`pretokenizer='metaspace'`"):
        volt.export(marked, "hf", tmp_path / "x")


@pytest.mark.parametrize("form", ["hf", "sentencepiece", "subword-nmt", "gpt2", "tiktoken", "text"])
def test_files_of_every_format_are_candidates(form, tmp_path):
    pretokenizer = {"subword-nmt": "whitespace", "gpt2": "byte-level", "tiktoken": "byte-level"}
    rule = pretokenizer.get(form, "metaspace")
    merged = volt.learn(
        [sample_lines()], candidates="bpe:500", merge_rule="concat"
        if form in ("sentencepiece", "tiktoken") else None, **fast(rule),
    ).vocabulary  # fmt: skip
    file = volt.export(merged, form, tmp_path / "x").files[0]
    taken = learned(f"file:{file}", "unigram", rule)
    theirs = {token.text for token in merged.tokens if token.kind == "merged"}
    assert {token.text for token in taken.tokens if token.kind == "piece"} <= theirs
    other = learned(f"file:{file}", "longest", "whitespace")
    assert other.of_kind("piece")


@pytest.mark.parametrize("name", ["multi30k/valid.de", "tatoeba-ja-en/valid.ja"])
def test_real_text(name, volt_data, tmp_path):
    file = volt_data(name)
    for source, encoding in (("unigram:3000", "unigram"), ("substring:3000", "longest")):
        unknown = "unk" if encoding == "longest" else "byte"
        vocabulary = volt.learn(
            [str(file)], candidates=source, encoding=encoding, unknown=unknown,
            sizes=rows_with(file, 500, 1000, unknown=unknown),
        ).vocabulary  # fmt: skip
        assert vocabulary.unreachable == []
        tokenizer = volt.Tokenizer(vocabulary)
        with volt.counting.inputs.find_inputs([str(file)])[0].open() as stream:
            lines = [line.decode().rstrip("\n").replace("▁", "_") for line in stream]
        ids = tokenizer.encode_batch(lines)
        assert tokenizer.decode_batch(ids) == lines
        others = [hugging_face(vocabulary, tmp_path)]
        if encoding == "unigram":
            model = volt.export(vocabulary, "sentencepiece", tmp_path / "x", force=True).files[0]
            others.append(processor(model))
        for other in others:
            assert [other(line) for line in lines] == ids
