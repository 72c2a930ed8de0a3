"""Offsets are places in the text as it was given, whatever a normalizer makes of it."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt.tokenizing.alignment import original_spans

texts = st.text("abÉé e\u0301ﬁ½Ⅳ日 .", max_size=60) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=30
)


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "NFKD"])
@given(texts)
def test_every_character_comes_from_where_it_was(form, text):
    def normalize(some):
        return unicodedata.normalize(form, some).lower()

    made = normalize(text)
    spans = original_spans(text, made, normalize, [(i, i + 1) for i in range(len(made))])
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    for character, (start, end) in zip(made, spans, strict=True):
        assert (
            character in normalize(text[start:end]) or end - start <= 1 or form in ("NFC", "NFKC")
        )
    starts = [start for start, _ in spans]
    assert starts == sorted(starts)


def test_long_texts_are_aligned_place_by_place():
    text = "Ünï ﬁne ½ — " * 200
    made = unicodedata.normalize("NFKC", text)
    spans = original_spans(
        text, made, lambda some: unicodedata.normalize("NFKC", some),
        [(i, i + 1) for i in range(len(made))],
    )  # fmt: skip
    for character, (start, end) in zip(made, spans, strict=True):
        assert character in unicodedata.normalize("NFKC", text[start:end])
        assert end - start == 1


@pytest.mark.parametrize("normalize", ["nfc", "nfkc"])
def test_offsets_of_a_vocabulary_that_normalizes(normalize):
    tok = volt.learn([["low ﬁne lower"] * 5], size=275, normalize=normalize).tokenizer
    text = "low ﬁne e\u0301 ½ lower"
    ids, spans = tok.encode_with_offsets(text)
    assert ids == tok.encode(text)
    assert spans[0] == (0, 3)
    assert spans[-1][1] == len(text)
    assert all(start <= end for start, end in spans)


def test_offsets_of_bert():
    from vocabularies import bert_vocabulary

    tok = volt.Tokenizer(bert_vocabulary())
    ids, spans = tok.encode_with_offsets("Á  aÄ")
    assert [tok.tokens[i] for i in ids] == ["a", "a", "##a"]
    assert spans == [(0, 1), (3, 4), (4, 5)]
