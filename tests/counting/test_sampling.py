"""Samples, caps and mixtures: documents are chosen by a hash of their content."""

import json
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import volt
from volt import _core
from volt.counting.sampling import Census, Sampling, choose, parse_bytes, parse_mix, split_lines
from volt.reference.splits import seeded_hash


def made(number, seed=1):
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefghij", k=draw.randint(2, 6))) for _ in range(300)]
    return [
        "\n".join(" ".join(draw.choices(words, k=8)) for _ in range(draw.randint(1, 12)))
        for _ in range(number)
    ]


DOCUMENTS = made(400)


def jsonl(path, documents):
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return str(path)


@given(st.lists(st.binary(max_size=40)), st.integers(0, 2**63 - 1), st.booleans())
def test_the_hash_is_that_of_the_reference(documents, seed, lines):
    ends = np.cumsum([len(one) for one in documents]).astype(np.uint64)
    found = _core.hash_documents(b"".join(documents), ends, seed, lines)
    content = [one.removesuffix(b"\n") if lines else one for one in documents]
    assert found.tolist() == [seeded_hash(one, seed, 0) for one in content]


def test_ends_outside_the_text_are_refused():
    for ends in ([4], [2, 1]):
        with pytest.raises(ValueError, match="documents that end outside"):
            _core.hash_documents(b"abc", np.array(ends, np.uint64), 0, False)


@given(st.lists(st.text("ab\n")))
def test_lines_of_documents_are_those_of_the_text(documents):
    from volt.counting.documents import documents_of

    found = split_lines(documents_of([one.encode() for one in documents])).split()
    expected = [line for one in documents for line in one.split("\n")]
    assert [line.decode().removesuffix("\n") for line in found if line.strip()] == [
        line for line in expected if line
    ]


@pytest.mark.parametrize("unit", ["line", "document"])
def test_the_same_documents_for_any_files_order_form_and_machine(tmp_path, unit):
    pretokenizer = "metaspace" if unit == "line" else "byte-level"
    options = {"sample": "30k", "seed": 7, "pretokenizer": pretokenizer}
    one = volt.count(jsonl(tmp_path / "a.jsonl", DOCUMENTS), **options)
    shuffled = random.Random(5).sample(DOCUMENTS, len(DOCUMENTS))
    files = [jsonl(tmp_path / f"{part}.jsonl", shuffled[part::3]) for part in range(3)]
    for source in (files, DOCUMENTS, iter(shuffled), volt.Texts(shuffled)):
        again = volt.count(source, **options)
        assert again.digest() == one.digest()
        assert again.sample.summary() == one.sample.summary()
    other = volt.count(DOCUMENTS, **options | {"seed": 8})
    assert other.digest() != one.digest()
    shards = [volt.count(files, shard=f"{part}/3", **options) for part in (1, 2, 3)]
    assert volt.merge_counts(shards).digest() == one.digest()


def test_a_sample_has_the_size_that_was_asked_for(tmp_path):
    found = volt.count(DOCUMENTS, sample="50k").sample
    assert 49_000 < found.total("kept_bytes") <= 50_000
    assert found.total("read_documents") == sum(one.count("\n") + 1 for one in DOCUMENTS)
    assert found.total("read_bytes") == sum(len(one.replace("\n", "")) for one in DOCUMENTS)
    everything = volt.count(DOCUMENTS, sample="1G")
    assert everything.digest() == volt.count(DOCUMENTS).digest()
    assert any("that is all there is" in line for line in everything.sample.lines())
    with pytest.raises(volt.SettingsError, match="`sample` is too small"):
        volt.count(DOCUMENTS, sample=5)


def test_kept_documents_are_those_with_the_lowest_hashes():
    lines = [line for one in DOCUMENTS for line in one.split("\n")]
    kept = volt.count(DOCUMENTS, sample="20k").sample.total("kept_documents")
    order = sorted(lines, key=lambda line: seeded_hash(line.encode(), 0, 0))
    assert abs(len("".join(order[:kept])) - 20_000) < 200
    assert (
        volt.count(volt.Texts(order[:kept])).digest()
        == volt.count(DOCUMENTS, sample="20k").digest()
    )


def test_a_mixture_has_its_shares_and_repeats_nothing(tmp_path):
    web, code = jsonl(tmp_path / "w.jsonl", made(300, 2)), jsonl(tmp_path / "c.jsonl", made(300, 3))
    found = volt.count([f"web={web}", f"code={code}"], mix="web=0.75,code=0.25")
    first, second = found.sample.groups
    assert abs(found.sample.achieved(first) - 0.75) < 0.01
    assert first.kept_bytes <= first.read_bytes
    assert first.kept_bytes > 0.97 * first.read_bytes  # what there is least of is used up
    assert second.kept_documents < second.read_documents
    again = volt.count(
        {"web": web, "code": iter(made(300, 3))}, mix={"web": 3, "code": 1}, sample="40k"
    )
    assert abs(again.sample.achieved(again.sample.groups[1]) - 0.25) < 0.01
    assert 39_000 < again.sample.total("kept_bytes") <= 40_000


@pytest.mark.parametrize(
    ("inputs", "options", "words"),
    [
        (["web=x"], {"mix": "code=1"}, "'web=x' belongs to none of them; write code=PATH"),
        ([DOCUMENTS], {"mix": "code=1"}, "belongs to none"),
        (DOCUMENTS, {"mix": "code=0"}, "`mix` must be shares above 0 by name"),
        (DOCUMENTS, {"mix": "code"}, "`mix` must be shares"),
        (DOCUMENTS, {"sample": "lots"}, "`sample` must be a number of bytes such as 2G"),
        (DOCUMENTS, {"sample": 0}, "`sample` must be a number of bytes"),
        (DOCUMENTS, {"document_cap": 0}, "`document_cap` must be"),
        (DOCUMENTS, {"shard": "0/4"}, "`shard` must be a part and the number of parts"),
        (DOCUMENTS, {"shard": "5/4"}, "`shard` must be"),
        (DOCUMENTS, {"shard": "1/4", "min_count": 2}, "`min_count` and `max_types` when"),
        ({"a": 3}, {"sample": "1k"}, "word counts, not text"),
        ({"a": "text"}, {}, "a mapping is word counts"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_in_words(inputs, options, words):
    with pytest.raises(volt.VoltError, match=words):
        volt.count(inputs, **options)


def test_a_cap_is_in_characters(tmp_path):
    text = "日本語 naïve " * 100
    capped = volt.count(volt.Texts([text]), document_cap=50, pretokenizer="byte-level")
    assert (
        capped.digest() == volt.count(volt.Texts([text[:50]]), pretokenizer="byte-level").digest()
    )
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    file = volt.count(tmp_path / "a.txt", document_cap=50, pretokenizer="byte-level")
    assert file.digest() == capped.digest()
    assert file.sample.total("kept_bytes") == len(text[:50].encode())


def test_learning_from_a_sample_says_whether_more_text_would_help():
    found = volt.learn(DOCUMENTS, sample="40k", candidates="bpe:300", splits=1)
    assert "half of the sample chose " in found.enough
    assert found.summary()["sample"]["size"] == 40_000
    assert found.summary()["enough_text"] == found.enough
    fixed = volt.learn(DOCUMENTS, sample="40k", candidates="bpe:300", size=400, splits=1)
    assert "half of the sample gives another vocabulary: " in fixed.enough
    assert volt.learn(DOCUMENTS, candidates="bpe:300", splits=1).enough == ""


@given(st.lists(st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 99)), max_size=30),
       st.integers(1, 2000))  # fmt: skip
def test_a_limit_keeps_as_much_as_fits(documents, size):
    census = Census()
    for place, length in documents:
        census.sizes[place] += length
        census.documents[place] += 1
    limit = census.limit(size)
    assert census.sizes[:limit].sum() <= size
    assert limit == 2**20 or census.sizes[: limit + 1].sum() > size


def test_groups_limit_each_other():
    one, two = Census(), Census()
    one.sizes[:10], two.sizes[:100] = 10, 10
    limits, _ = choose({"a": one, "b": two}, Sampling(mix=parse_mix("a=0.5,b=0.5")))
    assert one.sizes[: limits["a"]].sum() == two.sizes[: limits["b"]].sum() == 100


def test_sizes_are_decimal():
    assert [parse_bytes(text) for text in ("2G", "1.5M", "10kB", 7)] == [
        2 * 10**9,
        1500000,
        10**4,
        7,
    ]
