"""Offsets are places in the text as it was given, whatever a normalizer makes of it."""

import unicodedata
from itertools import pairwise

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


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFD", "NFKD"])
@given(texts | st.text("①Ⅳﬁﬀ½㎏a e\u0301\u0316가ᄀ\u1161\u11a8", max_size=200))
def test_alignment_is_as_fine_as_the_places_at_which_a_text_can_be_cut(form, text):
    def normalize(some):
        return unicodedata.normalize(form, some)

    made = normalize(text)
    places = [
        place for place in range(1, len(text))
        if normalize(text[:place]) + normalize(text[place:]) == made
    ]  # fmt: skip
    spans = original_spans(text, made, normalize, [(i, i + 1) for i in range(len(made))])
    at = 0
    for first, last in pairwise([0, *places, len(text)]):
        for _ in normalize(text[first:last]):
            assert first <= spans[at][0] <= spans[at][1] <= last
            at += 1
    assert at == len(made)


STUCK = "\u0301\u0316"


@pytest.mark.parametrize("parts", [("①Ⅳ", "", ""), ("", STUCK, ""), ("½" * 6, STUCK * 2, "ﬁ")])
def test_work_does_not_grow_with_the_square_of_the_text(parts):
    """Characters normalized in all, also around a long part that can't be cut."""

    def work_of(times):
        work = 0

        def normalize(some):
            nonlocal work
            work += len(some)
            return unicodedata.normalize("NFKC", some)

        text = parts[0] * times + "a" + parts[1] * times + parts[2] * times
        made = unicodedata.normalize("NFKC", text)
        spans = original_spans(text, made, normalize, [(i, i + 1) for i in range(len(made))])
        if parts[2]:
            assert spans[:6] == [(0, 1)] * 3 + [(1, 2)] * 3
            assert spans[-2:] == [(len(text) - 1, len(text))] * 2
        return work

    assert work_of(2000) < 8 * work_of(500)


@pytest.mark.parametrize("text", ["①Ⅳ", "ﬁﬀ", "½¼", "ⅣⅣⅣ", "㎏①"])
def test_neighbours_that_expand_have_a_span_each(text):
    tok = volt.learn([["low 1 IV fi ff kg"] * 5], size=280, normalize="nfkc").tokenizer
    ids, spans = tok.encode_with_offsets(text)
    assert {end - start for start, end in spans} <= {0, 1}
    assert spans[-1] == (len(text) - 1, len(text))
    assert len(ids) == len(spans)
    assert tok.truncate(text, tok.count(text[0])) == text[0]


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
