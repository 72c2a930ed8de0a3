"""Refit and extend: every token whole, nothing lost, true id maps, files that libraries read."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import bert_vocabulary, made, modes, scored, small_sizes, unigram_modes

import volt
from interop.samples import learned, looked_up, sample_lines
from volt import InputError, SettingsError, Tokenizer
from volt.adapting.words import count_for, fit, fit_engine, fitting_documents
from volt.base.progress import Progress
from volt.choosing.criteria import CRITERIA
from volt.foreign.engine_choice import open_engine
from volt.foreign.original import Original, read_tokenizer
from volt.proposing.tokens import Token
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.check import find_unreachable
from volt.tokenizing.vocabulary import LookUp, Vocabulary
from volt.tokenizing.volt_json import load_vocabulary

words = st.lists(st.text("abcd", min_size=1, max_size=7), min_size=1, max_size=12)
lines = st.text("abcd é\tx", max_size=24)


def check(old: Vocabulary, result: volt.RefitResult, texts: list[str]) -> None:
    """What holds for every refitted vocabulary."""
    new, id_map = result.vocabulary, result.id_map
    assert len(id_map) == len(old) and id_map.dtype == np.int64
    for i, number in enumerate(id_map.tolist()):
        if number < 0:
            assert old.tokens[i].kind in ("merged", "piece")  # all others stay
        else:
            token, before = new.tokens[number], old.tokens[i]
            assert (token.text, token.kind, token.rank) == (before.text, before.kind, before.rank)
    kept = id_map[id_map >= 0].tolist()
    assert kept == list(range(len(kept)))
    assert new.unreachable == find_unreachable(Tokenizer(new)) == []
    one, other = Tokenizer(old), Tokenizer(new)
    for text in texts:
        assert other.decode(other.encode(text)) == one.decode(one.encode(text))


@given(words, words, st.integers(0, 9), modes, st.integers(0, 20), st.lists(lines, max_size=3))
def test_a_smaller_vocabulary_is_closed_whole_and_lossless(
    first: list[str], second: list[str], seed: int, mode: tuple[str, str], more: int,
    texts: list[str],
) -> None:  # fmt: skip
    old = made(first, seed, pretokenizer=mode[0], merge_rule=mode[1])
    fixed = sum(token.kind != "merged" for token in old.tokens)
    size = min(fixed + more, len(old))
    for rank in ("merge", "frequency"):
        try:
            result = volt.refit(old, [[" ".join(second)]], size=size, rank=rank)
        except SettingsError as error:  # some of its tokens no text gives
            assert "tokens that text gives" in str(error)
            assert len(find_unreachable(Tokenizer(old))) > len(old) - size
            return
        assert len(result.vocabulary) == size
        check(old, result, texts)


def extended(old: volt.Vocabulary, second: list[str], add: int) -> volt.RefitResult | None:
    """None: so many new tokens that occur twice are not to be had, and that was said. Characters
    that the vocabulary lacks, which would be added, are left out."""
    known = {*"".join(old.of_kind("character"))}
    if not old.rule.mode.byte_level:
        second = [word for word in second if {*word} <= known]
    if not second:
        return None
    try:
        return volt.extend(old, [[" ".join(second * 2)]], add)
    except InputError as error:
        assert "new tokens that occur 2 times" in str(error)
        return None


@given(words, words, st.integers(0, 9), modes, st.integers(1, 6), st.lists(lines, max_size=3))
def test_an_extended_vocabulary_cuts_as_the_old_one_but_for_the_new_merges(
    first: list[str], second: list[str], seed: int, mode: tuple[str, str], add: int,
    texts: list[str],
) -> None:  # fmt: skip
    old = made(first, seed, pretokenizer=mode[0], merge_rule=mode[1])
    if find_unreachable(Tokenizer(old)):
        return  # what no text gave may come with the new merges
    result = extended(old, second, add)
    if result is None:
        return
    new = result.vocabulary
    assert len(new) == len(old) + add and len(result.parts) == add
    assert new.texts[: len(old)] == old.texts
    assert result.id_map.tolist() == list(range(len(old)))
    assert new.unreachable == []
    ranks = [token.rank for token in new.tokens if token.kind == "merged"]
    assert ranks[-add:] == sorted({*ranks[-add:]})  # after all old ones
    assert min(ranks[-add:]) > max(ranks[:-add], default=-1) or add > len(ranks)
    parts = [[i] for i in range(len(old))] + result.parts
    for number, part in enumerate(result.parts, len(old)):
        if all(old.tokens[i].kind in ("character", "merged") for i in part):
            assert new.tokens[number].text == "".join(old.tokens[i].text for i in part)
        else:  # a character that the old vocabulary lacked, or a token with one
            assert {old.tokens[i].kind for i in part} & {"byte", "special"}
    one, other = Tokenizer(old), Tokenizer(new)
    for text in (*texts, " ".join(second), "dcba abcd"):
        ids = other.encode(text)
        assert [i for token in ids for i in parts[token]] == one.encode(text)
    assert result.after.tokens <= result.before.tokens


def test_extending_goes_on_where_bpe_stopped_and_lowers_entropy_more() -> None:
    """A vocabulary of 300 merges: extended by 200, it has less entropy than one of 500 merges;
    extended by all that the text gives, it is the vocabulary of all merges."""
    counts = volt.count([sample_lines()], pretokenizer="byte-level")
    found = volt.candidates(counts)
    start = volt.learn(counts, size=4 + 256 + 300).vocabulary
    bpe = volt.learn(counts, size=4 + 256 + 500).vocabulary
    result = volt.extend(start, counts, 200)
    assert len(result.vocabulary) == len(bpe) and result.vocabulary.texts != bpe.texts
    assert result.after.entropy_per_character < fit(bpe, counts, 1).entropy_per_character
    whole = volt.learn(counts, size=4 + len(found)).vocabulary
    result = volt.extend(start, counts, found.merges - 300)
    assert result.vocabulary.texts == whole.texts
    assert [t.frequency for t in result.vocabulary.tokens] == [t.frequency for t in whole.tokens]


def test_characters_without_a_token_are_counted(tmp_path: Path) -> None:
    """Two of `▁ab ▁ é ▁ ж`: a token each of five, or two bytes each of seven. `compare` says so,
    too, of the vocabulary and of a file of it that another library encodes."""
    found = volt.candidates(volt.count([["ab ab"] * 3]))
    for unknown, lost, tokens in (("byte", 4, 7), ("unk", 2, 5)):
        vocabulary = build_vocabulary(found, range(len(found)), unknown=unknown)
        here = fit(vocabulary, volt.count([["ab é ж"]]), 1)
        assert (here.tokens, here.unknown) == (tokens, pytest.approx(lost / tokens))
        (tmp_path / unknown).mkdir()
        vocabulary.save(tmp_path / unknown / "volt.json")
        (file,) = volt.export(vocabulary, "hf", tmp_path / f"{unknown}-hf").files[:1]
        for path in (tmp_path / unknown, file):
            row = volt.compare([path], [["ab é ж"]]).rows[0]
            both = (row.unknown or 0) + (row.in_bytes or 0)
            assert (row.tokens, both) == (tokens, pytest.approx(lost / tokens))
        engine = open_engine(file, native=False).engine
        assert fit_engine(engine, ["ab é ж"]).unknown == pytest.approx(lost / tokens)


@given(words, st.integers(1, 9))
def test_new_tokens_are_those_that_lower_the_curve_most(texts: list[str], add: int) -> None:
    """Without parents among the new ones, there is no other set that lowers it more."""
    old = made(["a"], 0, pretokenizer="byte-level")
    counts = volt.count([[" ".join(texts * 2)]], pretokenizer="byte-level")
    found = volt.candidates(counts, merges=2 * add, coverage=1.0)
    if found.merges < add:
        return
    chosen = set(volt.extend(old, counts, add).vocabulary.texts[len(old) :])
    tokens = found.curve.tokens * found.curve.entropy
    gain = dict(zip(found.tokens[found.alphabet_size :], -np.diff(tokens), strict=True))
    single = {text for text in gain if len(text) == 2}
    needed = {text for longer in chosen for text in gain if text in longer and text != longer}
    for taken in (chosen & single) - needed:
        assert all(gain[left] <= gain[taken] + 1e-9 for left in single - chosen)


@pytest.mark.parametrize("mode", ["metaspace", "whitespace", "byte-level"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_choice_of_a_size(mode: str, criterion: str) -> None:
    old = learned(mode)
    on = sample_lines()[:150]
    options: dict[str, Any] = {"criterion": criterion, "sizes": small_sizes(old),
                               "for_model": "1K:8"}  # fmt: skip
    try:
        result = volt.refit(old, [on], **options)
    except InputError as error:
        assert criterion == "frequency"
        assert str(error).startswith("frequency chooses no size on this text (no size meets it)")
        return
    check(old, result, sample_lines()[-40:])
    check_choice(result, criterion)
    assert len(result.vocabulary) < len(old) or criterion in ("heldout", "zipf")
    used = Tokenizer(result.vocabulary).encode_batch(on)
    assert result.after.tokens == sum(map(len, used))
    assert result.after.tokens_per_line == pytest.approx(sum(map(len, used)) / len(on))
    again = volt.refit(old, [on], threads=2, **options)
    assert again.vocabulary.to_json() == result.vocabulary.to_json()
    kind = "byte" if old.rule.mode.byte_level else "character"
    assert result.summary()["always_kept"][kind] == len(old.of_kind("character"))


LOOKED_UP = [
    ("metaspace", "unigram", "byte"), ("metaspace", "unigram", "unk"),
    ("byte-level", "unigram", "byte"), ("whitespace", "longest", "unk"),
    ("metaspace", "longest", "unk"), ("byte-level", "longest", "byte"),
]  # fmt: skip


@pytest.mark.parametrize("mode", LOOKED_UP)
def test_tokens_that_are_looked_up(mode: tuple[str, str, str], tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    old = looked_up(*mode)
    volt.export(old, "hf", tmp_path / "old")
    on = sample_lines()[:150]
    muv: dict[str, Any] = {"criterion": "muv", "sizes": small_sizes(old)}
    sizes: list[dict[str, Any]] = [muv, {"size": len(old) - 200}]
    for options in sizes:
        result = volt.refit(tmp_path / "old", [on], **options)
        check(old, result, sample_lines()[-200:])
        assert len(result.vocabulary) <= len(old) - 200
        result.save(tmp_path / "new", force=True)
        theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
        ours = Tokenizer(result.vocabulary)
        for text in sample_lines()[-150:]:
            assert theirs.encode(text).ids == ours.encode(text, allowed_special="all")
    used = [theirs.encode(text).ids for text in on]  # of every line, which is a document
    assert result.after.tokens == sum(map(len, used))
    assert Tokenizer(result.vocabulary).encode_batch(on) == used
    assert result.after.size == len(old) - 200


@pytest.mark.parametrize("mode", LOOKED_UP)
def test_every_criterion_chooses_among_tokens_that_are_looked_up(
    mode: tuple[str, str, str],
) -> None:
    old = looked_up(*mode)
    counts = count_for(Original(old), [sample_lines()[:150]], {}, 1, Progress())
    chosen = 0
    for criterion in CRITERIA:
        try:
            result = volt.refit(old, counts, criterion=criterion, sizes=small_sizes(old))
        except InputError as error:
            assert criterion == "frequency"
            assert "frequency chooses no size on this text (no size meets it)" in str(error)
            continue
        chosen += 1
        check(old, result, sample_lines()[-20:])
        check_choice(result, criterion)
    assert chosen >= len(CRITERIA) - 1


def check_choice(result: volt.RefitResult, criterion: str) -> None:
    """The size is that of the verdict, in rows, and what every criterion says is there."""
    choice = result.choice
    assert choice is not None and choice.verdict is not None
    assert choice.criterion == choice.verdict.criterion == criterion
    assert [one.criterion for one in choice.verdicts] == list(CRITERIA)
    assert choice.size == choice.verdict.size == len(result.vocabulary) == result.after.size
    stored = result.summary()
    assert (stored["criterion"], stored["size"]) == (criterion, len(result.vocabulary))
    assert len(stored["steps"]) == len(choice.steps) >= 2


@pytest.mark.parametrize("rank", ["frequency", "merge", None])
@pytest.mark.parametrize("mode", ["metaspace", "whitespace", "byte-level"])
@pytest.mark.parametrize("rule", ["pairs", "concat"])
def test_a_refitted_vocabulary_has_exactly_the_size_asked_for(
    mode: str, rule: str, rank: str | None
) -> None:
    old = learned(mode, rule)
    counts = volt.count([sample_lines()[:150]], pretokenizer=mode)
    always = len(old) - len(old.of_kind("merged"))
    for size in (always, always + 1, always + 97, len(old) - 1, len(old)):
        result = volt.refit(old, counts, size=size, rank=rank)
        assert len(result.vocabulary) == result.after.size == size
        assert result.choice is not None
        assert (result.choice.criterion, result.choice.size) == ("size", size)
    check(old, volt.refit(old, counts, size=always + 97, rank=rank), sample_lines()[-20:])


@pytest.mark.parametrize("mode", LOOKED_UP)
def test_tokens_that_are_looked_up_are_cut_to_exactly_the_size_asked_for(
    mode: tuple[str, str, str],
) -> None:
    old = looked_up(*mode)
    counts = count_for(Original(old), [sample_lines()[:150]], {}, 1, Progress())
    always = len(old) - len(old.of_kind("piece"))
    most = len(old) - len(find_unreachable(Tokenizer(old)))
    for size in (always, always + 1, always + 97, most - 1, most):
        for rank in ("frequency", None):
            result = volt.refit(old, counts, size=size, rank=rank)
            assert len(result.vocabulary) == result.after.size == size
    with pytest.raises(SettingsError, match="no order of merges"):
        volt.refit(old, counts, size=always + 97, rank="merge")


def taken_apart(result: volt.RefitResult, ids: list[int]) -> list[int]:
    """In old tokens."""
    old = len(result.id_map)
    return [part for i in ids for part in ([i] if i < old else result.parts[i - old])]


@given(words, words, st.integers(0, 9), unigram_modes, st.integers(1, 6), st.lists(lines))
def test_new_scores_change_no_sum(
    first: list[str], second: list[str], seed: int, mode: tuple[str, str | None], add: int,
    texts: list[str],
) -> None:  # fmt: skip
    old = scored(first, seed, *mode)
    result = extended(old, second, add)
    if result is None:
        return
    new = result.vocabulary
    assert list(new.tokens[: len(old)]) == [
        token._replace(frequency=new.tokens[i].frequency) for i, token in enumerate(old.tokens)
    ]
    assert new.unreachable == [] and len(new) == len(old) + add
    assert [t.kind for t in new.tokens[len(old) :]] == ["piece"] * add
    one, other = Tokenizer(old), Tokenizer(new)
    scores = old.columns.scores
    parts = [tuple(part) for part in result.parts]
    for text in (*texts, " ".join(second), "dcba abcd"):
        before, after = one.encode(text), other.encode(text)
        apart = taken_apart(result, after)
        assert other.decode(after) == one.decode(apart) == one.decode(before)
        assert scores[apart].sum() == scores[before].sum()
        # Where the parts of a new token stand side by side, they are that token.
        wholes = [tuple(taken_apart(result, [i])) for i in after]
        for start in range(len(wholes)):
            for end in range(start + 2, len(wholes) + 1):
                assert sum(wholes[start:end], ()) not in parts


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("mode", LOOKED_UP)
def test_tokens_that_are_looked_up_are_added(
    mode: tuple[str, str, str], exact: bool, tmp_path: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    old = looked_up(*mode, exact)
    volt.export(old, "hf", tmp_path / "old")
    on = sample_lines()[:150]
    result = volt.extend(tmp_path / "old", [on], 80)
    new = result.vocabulary
    assert new.texts[: len(old)] == old.texts and len(new) == len(old) + 80
    assert result.id_map.tolist() == list(range(len(old)))
    assert new.unreachable == old.unreachable  # some had too low a score
    assert any("wherever it fits" in message for message in result.messages) == (
        mode[1] == "longest"
    )
    ours, before = Tokenizer(new), Tokenizer(old)
    if not result.original.exact:  # Hugging Face finds names of bytes in text, and volt does not
        assert mode == ("metaspace", "unigram", "byte")
        assert result.after.tokens < 0.95 * result.before.tokens
        return
    for i, parts in enumerate(result.parts, len(old)):
        assert new.plain_text(new.texts[i]) == b"".join(
            old.plain_text(old.texts[part]) for part in parts
        )
        assert new.is_inner(new.texts[i]) == old.is_inner(old.texts[parts[0]])
    result.save(tmp_path / "new")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "new" / "tokenizer.json"))
    for text in sample_lines():
        assert theirs.encode(text).ids == ours.encode(text, allowed_special="all")
        if mode[1] == "unigram" and not exact:  # nor are there ties
            assert taken_apart(result, ours.encode(text)) == before.encode(text)
    assert result.after.tokens < 0.95 * result.before.tokens
    assert result.after.tokens == sum(map(len, ours.encode_batch(on)))
    again = volt.extend(tmp_path / "old", [on], 80, threads=2)
    assert again.vocabulary.to_json() == load_vocabulary(tmp_path / "new").to_json()


def test_a_token_at_the_start_of_a_word_never_says_that_it_is_inside() -> None:
    """`#` and `###c` make `##c`, which would be taken for a `c` inside a word, too."""
    kinds = {"[UNK]": "special", "#": "character", "a": "character", "##a": "character",
             "##b": "character", "###c": "piece"}  # fmt: skip
    old = Vocabulary(
        volt.WordRule("whitespace"), [Token(*one) for one in kinds.items()],  # type: ignore[arg-type]
        encoding="longest", unknown="unk", unknown_token="[UNK]", look_up=LookUp(mark="##"),
    )  # fmt: skip
    result = volt.extend(old, [["##cab ##caab ##ca aab aabb"] * 3], 3)
    new = result.vocabulary
    assert new.unreachable == []
    assert Tokenizer(old).encode("##ca") == Tokenizer(new).encode("##ca") == [1, 5, 3]
    for i, parts in enumerate(result.parts, len(old)):
        assert new.is_inner(new.texts[i]) == old.is_inner(old.texts[parts[0]])


def test_scores_that_can_not_be_added_up_are_refused() -> None:
    old = looked_up("metaspace", "unigram", "byte")
    huge = [t._replace(score=t.score * 50_000) for t in old.tokens]
    with pytest.raises(InputError, match="not logarithms of probabilities"):
        volt.extend(replace(old, tokens=huge), [sample_lines()[:150]], 80)


def test_words_between_spaces_are_counted_whole() -> None:
    old = looked_up("metaspace", "unigram", "byte")
    text = ["3.14 don't", "  a▁b\tc"]
    counts = count_for(old, [text], {}, 1, Progress())
    assert counts.to_dict() == {"▁3.14": 1, "▁don't": 1, "▁ab": 1, "▁c": 1}
    assert counts.rule == old.rule


def test_weighted_words_between_spaces_are_split_like_others() -> None:
    old = looked_up("metaspace", "unigram", "byte")
    texts = [["a▁b c", "ab"], ["c ▁ab"]]
    counts = count_for(old, texts, {"weights": [1, 2]}, 1, Progress())
    assert counts.to_dict() == {"▁ab": 4, "▁c": 3}
    assert [part.counts.to_dict() for part in counts.parts] == [{"▁ab": 2, "▁c": 1},
                                                                {"▁ab": 1, "▁c": 1}]  # fmt: skip
    lines = sample_lines()
    weighted = volt.refit(old, [lines[:100], lines[100:150]], weights=[1, 2])
    assert weighted.choice is not None
    assert weighted.choice.range is not None  # quality was measured, on words that were found


def test_counts_of_words_between_spaces_stand_for_the_text(tmp_path: Path) -> None:
    old = looked_up("metaspace", "unigram", "byte")
    text = sample_lines()[:60]
    counts = volt.count([text], pretokenizer="whitespace", max_word_length=10_000)
    counts.save(tmp_path / "counts.tsv")
    found = count_for(old, tmp_path / "counts.tsv", {}, 1, Progress())
    assert found.to_dict() == count_for(old, [text], {}, 1, Progress()).to_dict()


def test_text_for_a_normalizer_is_read_as_all_text_is(tmp_path: Path) -> None:
    """Folders, weights, invalid text and names: as for a tokenizer without a normalizer."""
    old = bert_vocabulary()

    def counted(*inputs: Path | str, **options: Any) -> tuple[dict[str, int], int]:
        counts = count_for(old, list(inputs), options, 1, Progress())
        return counts.to_dict(), counts.unit

    one, bad = tmp_path / "one.txt", tmp_path / "bad.txt"
    one.write_bytes("\ufeffÁ, b\nB".encode())
    bad.write_bytes(b"a\n\xffB\nA")
    assert counted(one) == ({"b": 2, ",": 1, "a": 1}, 1)
    assert counted(tmp_path, glob="one.*") == counted(one)
    assert counted(f"{one}:2.0") == counted(one, weights=2) == ({"b": 4, ",": 2, "a": 2}, 1)
    assert counted(one, one, weights=["1", "1/3"]) == ({"b": 8, ",": 4, "a": 4}, 3)
    with pytest.raises(InputError, match=r"bad\.txt, line 2: .* at offset 2\)"):
        counted(bad)
    assert counted(bad, on_invalid="skip-line") == ({"a": 2}, 1)
    assert counted(bad, on_invalid="replace") == ({"a": 2, "b": 1}, 1)
    volt.count([["a b"]], pretokenizer="whitespace").save(tmp_path / "counts.tsv")
    with pytest.raises(SettingsError, match=r"counts\.tsv: a counts file, but .* normalizer"):
        counted(tmp_path / "counts.tsv")


def test_tokens_a_line_do_not_change_with_a_weight(tmp_path: Path) -> None:
    old = learned("byte-level")
    one, two = sample_lines()[:40], sample_lines()[40:43]

    def a_line(*texts: Any, **options: Any) -> float | None:
        return fit(old, count_for(old, list(texts), options, 1, Progress()), 1).tokens_per_line

    assert a_line(one, weights="1/3") == pytest.approx(a_line(one))
    assert a_line(one, two, weights=[1, 2]) == pytest.approx(a_line(one, two, two))
    assert a_line(one, two, weights=[1, 2]) != pytest.approx(a_line(one, two))
    volt.count([one], pretokenizer="byte-level", weights=2).save(tmp_path / "counts.tsv")
    assert a_line(tmp_path / "counts.tsv") is None  # the file does not tell of the weight


def test_a_character_without_a_token_of_its_own_can_not_be_spared() -> None:
    tokens = [Token("[UNK]", "special"), Token("a", "character"), Token("##a", "character"),
              Token("ab", "piece")]  # fmt: skip
    old = Vocabulary(
        volt.WordRule("whitespace"), tokens, encoding="longest", unknown="unk",
        unknown_token="[UNK]", look_up=volt.tokenizing.vocabulary.LookUp(mark="##"),
    )  # fmt: skip
    with pytest.raises(SettingsError, match="'##b', a part of 'ab', is not a token"):
        volt.refit(old, [["a aa ab"]], size=3)


# ----------------------------------------------------------------------------------------- formats


def files_of(vocabulary: Vocabulary, form: str, folder: Path) -> Path:
    name = {"sentencepiece": "m.model", "tiktoken": "r.tiktoken", "subword-nmt": "codes"}
    return volt.export(vocabulary, form, folder / name.get(form, form)).files[0]


FORMATS = [
    ("hf", "metaspace", None), ("hf", "whitespace", None), ("hf", "byte-level", None),
    ("gpt2", "byte-level", None), ("tiktoken", "byte-level", "concat"),
    ("sentencepiece", "metaspace", None),
]  # fmt: skip


@pytest.mark.parametrize(("form", "mode", "rule"), FORMATS)
def test_the_result_is_in_the_format_it_came_in(
    form: str, mode: str, rule: str | None, tmp_path: Path
) -> None:
    if form == "sentencepiece":
        pytest.importorskip("sentencepiece")
    file = files_of(learned(mode, rule), form, tmp_path)
    on = sample_lines()[:200]
    old, _ = volt.import_vocabulary(file)
    for result in (volt.refit(file, [on], sizes=small_sizes(old)), volt.extend(file, [on], 40)):
        result.save(tmp_path / "out", force=True)
        read, _ = volt.import_vocabulary(tmp_path / "out" / file.name)
        assert read.texts == result.vocabulary.texts
        ours, theirs = Tokenizer(result.vocabulary), Tokenizer(read)
        for text in sample_lines()[-60:]:
            assert ours.encode(text) == theirs.encode(text)
        id_map = np.load(tmp_path / "out" / "id_map.npy")
        saved = load_vocabulary(tmp_path / "out")
        for i, number in enumerate(id_map.tolist()):
            assert number < 0 or saved.tokens[number].text == old.tokens[i].text
    assert read_tokenizer(tmp_path / "out").vocabulary.texts == saved.texts  # our own, again
    parts = json.loads((tmp_path / "out" / "parts.json").read_text(encoding="utf-8"))
    assert len(parts) == 40 and min(map(int, parts)) == len(old)


def test_other_forms_of_a_tokenizer_are_not_written_and_named(tmp_path: Path) -> None:
    old = learned("metaspace", "concat")
    folder = files_of(old, "hf", tmp_path).parent
    told = volt.refit(folder, [sample_lines()[:200]], size=500).save(tmp_path / "alone")
    assert not any("not written" in one for one in told)
    volt.export(old, "sentencepiece", folder / "tokenizer.model")
    told = volt.refit(folder, [sample_lines()[:200]], size=500).save(tmp_path / "out")
    assert f"not written: tokenizer.model, tokenizer.vocab, which {folder} has besides" in told
    assert not (tmp_path / "out" / "tokenizer.model").exists()
    saved = json.loads((tmp_path / "out" / "refit.json").read_text(encoding="utf-8"))
    assert [one for one in saved["messages"] if "not written" in one]


@pytest.mark.parametrize("among_others", [False, True])
def test_what_a_hugging_face_file_says_besides_stays(among_others: bool, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    from tokenizers.processors import ByteLevel, Sequence, TemplateProcessing

    old = learned("byte-level")
    file = files_of(old, "hf", tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(file))
    theirs.add_special_tokens(["<|end|>"])
    theirs.add_tokens(["[X]"])
    end = theirs.token_to_id("<|end|>")
    around = TemplateProcessing(
        single="<s> $A <|end|>", special_tokens=[("<s>", 1), ("<|end|>", end)]
    )
    if among_others:
        around = Sequence([ByteLevel(trim_offsets=False), around])
    theirs.post_processor = around
    theirs.enable_padding(pad_id=end, pad_token="<|end|>")
    theirs.save(str(file))
    config = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|end|>", "model_max_length": 77,
              "chat_template": "{{ messages }}"}  # fmt: skip
    (file.parent / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    names = json.dumps({"bos_token": "<s>", "eos_token": "<|end|>"})
    (file.parent / "special_tokens_map.json").write_text(names, encoding="utf-8")
    for result in (volt.refit(file.parent, [sample_lines()[:200]], sizes=small_sizes(old)),
                   volt.extend(file.parent, [sample_lines()[:200]], 9)):  # fmt: skip
        result.save(tmp_path / "out", force=True)
        new = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
        ids = new.encode("bade [X] deba").ids
        mine = Tokenizer(result.vocabulary).encode("bade [X] deba")
        end_now = int(result.id_map[end])
        assert ids == [1, *mine, end_now]
        assert new.token_to_id("<|end|>") == end_now and new.padding["pad_id"] == end_now
        fast = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
        assert fast.eos_token == "<|end|>" and fast.eos_token_id == end_now
        assert fast.model_max_length == 77 and fast.chat_template == "{{ messages }}"
        assert fast("bade [X] deba")["input_ids"] == ids
        # volt.json says the same, for an export.
        volt.export(volt.load(tmp_path / "out").vocabulary, "hf", tmp_path / "again", force=True)
        again = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
        assert again("bade [X] deba")["input_ids"] == ids
        assert (again.bos_token, again.eos_token) == ("<s>", "<|end|>")
        assert again.model_max_length == 77 and again.chat_template == "{{ messages }}"


# ---------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("function", [volt.refit, volt.extend])
def test_options_that_are_gone_or_misspelled_are_refused_in_words(function: Any) -> None:
    old, on = learned("metaspace"), [sample_lines()[:40]]
    more = {"add": 3} if function is volt.extend else {}
    with pytest.raises(SettingsError, match="`model_width` was removed: use `for_model`"):
        function(old, on, model_width=512, **more)
    with pytest.raises(SettingsError, match="`bootstrap` was removed: use `splits`"):
        function(old, on, bootstrap=3, **more)
    with pytest.raises(SettingsError, match=r"no option `min_cuont`; did you mean `min_count`\?"):
        function(old, on, min_cuont=3, **more)


@pytest.mark.parametrize("profile", ["literal", "released"])
def test_profiles_for_comparison_are_of_learn_only(profile: str) -> None:
    with pytest.raises(SettingsError, match=f"`profile={profile}` is for the candidates of BPE"):
        volt.refit(learned("metaspace"), [sample_lines()[:40]], profile=profile)


def test_bad_input_is_refused_in_words(tmp_path: Path) -> None:
    old = learned("byte-level")
    on = [sample_lines()[:50]]
    with pytest.raises(InputError, match="no such file"):
        volt.refit(tmp_path / "nothing.json", on)
    with pytest.raises(InputError, match="the input has no words"):
        volt.refit(old, [[""]])
    with pytest.raises(SettingsError, match="no room for the 260"):
        volt.refit(old, on, size=100)
    with pytest.raises(SettingsError, match="extend adds some"):
        volt.refit(old, on, size=100_000)
    with pytest.raises(SettingsError, match="hidden tokens"):
        volt.refit(learned("metaspace", None, "split"), on)
    with pytest.raises(SettingsError, match="there is no option `colour`"):
        volt.refit(old, on, colour="red")
    with pytest.raises(SettingsError, match="decides about normalize"):
        volt.refit(old, on, normalize="nfc")
    with pytest.raises(SettingsError, match="counted already"):
        volt.extend(old, volt.count(on, pretokenizer="byte-level"), 3, min_count=2)
    with pytest.raises(SettingsError, match="add"):
        volt.extend(old, on, 0)
    with pytest.raises(InputError, match="lower `add`"):
        volt.extend(old, on, 100_000)
    unigram = looked_up("metaspace", "unigram", "byte")
    with pytest.raises(SettingsError, match="tokens that text gives; extend adds some"):
        volt.refit(unigram, on, size=100_000)
    for one in (old, unigram):
        with pytest.raises(InputError, match="could be dropped, the text has none: too few"):
            volt.refit(one, [["ΩΨ ΩΨ"]])
    (tmp_path / "list").write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"list: a list of tokens \(format text\)"):
        volt.refit(tmp_path / "list", on)
    (tmp_path / "dict.txt").write_text("a 3\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="without how text is cut"):
        volt.refit(tmp_path / "dict.txt", on)
    (tmp_path / "tokenizer.json").write_text('{"model": {"vocab": ', encoding="utf-8")
    with pytest.raises(InputError, match="not JSON"):
        volt.refit(tmp_path / "tokenizer.json", on)


def test_a_script_that_the_tokenizer_hardly_knows_is_told() -> None:
    """Refit names extend; extend says that runs of unknown characters were one token."""
    hint = "hardly knows its script; extend adds tokens for it"
    other = [["\u12ad\u134d\u120d \u1290\u1308\u122d \u1230\u120b\u121d"] * 30]
    for old in (learned("byte-level"), learned("metaspace", "pairs", "merge")):
        for on, told in ((other, True), ([sample_lines()], False)):
            messages = volt.refit(old, on, size=len(old) - 9).messages
            assert any(hint in message for message in messages) == told
    unigram = replace(looked_up("metaspace", "unigram", "unk"), fuse_unknown=True)
    result = volt.extend(unigram, other, 4)
    assert result.after.tokens > result.before.tokens
    assert any("were unknown, and one may be a whole run" in one for one in result.messages)


def test_why_weights_do_not_go_with_whole_documents() -> None:
    with pytest.raises(SettingsError, match=r"`weights`: .* documents have no weights"):
        fitting_documents([["a"], ["b"]], {"weights": [2.0, 1.0]})


def test_real_text(volt_data: Any, tmp_path: Path) -> None:
    """A vocabulary of one corpus, refitted to another: smaller, and nearly as short."""
    text = volt_data("multi30k/train.en")
    learn_on = volt_data("tatoeba-de-en/train.en")
    old = volt.learn([learn_on], size=16_000, pretokenizer="byte-level").vocabulary
    file = files_of(old, "hf", tmp_path)
    result = volt.refit(file, [text], size=6_000)
    assert result.after.tokens_per_line is not None and result.before.tokens_per_line is not None
    assert result.after.size == 6_000
    assert result.after.tokens_per_line < 1.02 * result.before.tokens_per_line
    extended = volt.extend(file, [text], 500)
    assert extended.after.tokens < 0.97 * extended.before.tokens
