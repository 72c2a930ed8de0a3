"""The class as people use it: calls, streams, copies, pickles, threads, forks, arrays."""

import copy
import multiprocessing
import pickle
import threading
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vocabularies import made, scored

import volt
from volt.base.errors import InputError, SettingsError
from volt.tokenizing.build import build_vocabulary
from volt.tokenizing.calling import lengths_that_fit

WORDS = ["low", "lower", "lowest", "slow", "newest", "日本", "don't", "3.14", "(a)", "éa", "naïve"]
MODES = ["metaspace", "whitespace", "byte-level", "wordpiece", "unk"]


@lru_cache
def tokenizer(mode="metaspace"):
    if mode == "wordpiece":
        counts = volt.count([WORDS * 4], pretokenizer="whitespace")
        found = volt.candidates(counts, candidates="wordpiece:60")
        return volt.Tokenizer(build_vocabulary(found, range(len(found))), threads=1)
    if mode == "unk":
        return volt.Tokenizer(scored(WORDS, 3, "metaspace", "unk"), threads=1)
    return volt.Tokenizer(made(WORDS, 3, pretokenizer=mode), threads=1)


# ------------------------------------------------------------------------------------------ streams


@pytest.mark.parametrize("mode", MODES)
@given(st.data(), st.booleans())
def test_a_stream_gives_what_decode_gives(mode, data, skip):
    tok = tokenizer(mode)
    text = st.sampled_from([*WORDS, "日本", "🧿é", "zz"]).flatmap(
        lambda word: st.sampled_from([word, f" {word}", f"{word} low"])
    )
    ids = data.draw(
        st.lists(st.integers(0, len(tok) - 1), max_size=12) | text.map(tok.encode), label="ids"
    )
    stream = tok.decode_stream(skip_special=skip)
    for _ in range(2):  # after finish it is as new
        parts = [stream.push(i) for i in ids] + [stream.finish()]
        assert "".join(parts) == tok.decode(ids, skip_special=skip)


def test_a_stream_never_gives_half_a_character():
    tok = tokenizer()
    ids = tok.encode("low 🧿")
    stream = tok.decode_stream()
    parts = [stream.push(i) for i in ids]
    assert parts[-4:] == ["", "", "", "🧿"]
    stream.push(ids[-4])
    assert stream.finish() == "\ufffd"
    for wrong in (-1, len(tok)):
        with pytest.raises(InputError, match=f"there is no token {wrong}"):
            stream.push(wrong)


# ------------------------------------------------------------------------------------------- arrays


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", [np.uint16, np.uint32, np.int32, np.int64, np.uint8, np.uint64])
def test_arrays_are_decoded_like_lists(mode, kind):
    tok = tokenizer(mode)
    some = [i for i in tok.encode("low slowest 3.14") if i < 256] + [1, 2]
    for skip in (False, True):
        expected = b"".join(tok._decoder.decoded_pieces(some, skip)).decode()
        assert tok.decode(some, skip_special=skip) == expected
        assert tok.decode(np.array(some, kind), skip_special=skip) == expected
        assert tok.decode(np.array(some * 2, kind)[::2], skip_special=skip) == tok.decode(
            (some * 2)[::2], skip_special=skip
        )
    assert tok.decode(np.array([], kind)) == ""


def test_what_is_not_an_id():
    tok = tokenizer()
    for ids in ([-1], [len(tok)], [1, 10**9], np.array([len(tok)], np.uint32), [10**30]):
        with pytest.raises(InputError, match=r"no token|not an id"):
            tok.decode(ids)
        with pytest.raises(InputError, match=r"no token|not an id"):
            tok.decode(ids, skip_special=True)
    with pytest.raises(InputError, match="whole numbers"):
        tok.decode(np.array([1.5]))
    with pytest.raises(InputError, match="2 dimensions"):
        tok.decode(np.array([[1]], np.uint32))


def test_ids_of_an_array_are_read_in_place():
    """A read-only array, as a memory map is, can't be copied by accident into one that is not."""
    tok = tokenizer()
    ids = tok.encode_array("low slow")
    assert ids.dtype == np.uint32
    assert ids.flags.owndata is False  # the memory of the encoder itself
    ids.flags.writeable = False
    assert tok.decode(ids) == "low slow"


# --------------------------------------------------------------------------- copies, threads, forks


def test_pickles_and_copies():
    for mode in MODES:
        tok = tokenizer(mode)
        tok.decode(tok.encode("low"))
        for other in (pickle.loads(pickle.dumps(tok)), copy.copy(tok), copy.deepcopy(tok)):
            assert other.encode("slow lowest") == tok.encode("slow lowest")
            assert other.decode(tok.encode("low")) == tok.decode(tok.encode("low"))
            assert other.vocabulary.to_bytes() == tok.vocabulary.to_bytes()
        assert copy.deepcopy(tok.vocabulary).to_bytes() == tok.vocabulary.to_bytes()


def test_copies_while_other_threads_use_it():
    """A thread that copies or pickles must not see a table of another that is being filled."""
    found = made(WORDS, 3)
    errors = []

    def use(tok):
        try:
            for _ in range(30):
                tok.encode("low slow", allowed_special="all")
                tok.decode_stream().push(3)
                tok.truncate("low slow lowest", 2)
                assert tok.printed
        except Exception as error:  # seen below
            errors.append(error)

    for _ in range(10):
        tok = volt.Tokenizer(found, threads=1)
        threads = [threading.Thread(target=use, args=(tok,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            assert copy.deepcopy(tok).encode("low") == tok.encode("low")
            assert pickle.loads(pickle.dumps(tok)).encode("low") == tok.encode("low")
        for thread in threads:
            thread.join()
    assert not errors


def _in_child(tok, queue):
    queue.put((tok.encode_batch(["low slow", "日本"] * 50), tok.count("low")))


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_goes_on_with_it():
    tok = volt.Tokenizer(made(WORDS, 3), threads=2)
    expected = tok.encode_batch(["low slow", "日本"] * 50)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(tok, queue))
    child.start()
    assert queue.get(timeout=60) == (expected, tok.count("low"))
    child.join()
    assert child.exitcode == 0


# -------------------------------------------------------------------------------------------- calls


@lru_cache
def with_roles(**options):
    found = volt.learn([WORDS * 4], size=288, add_bos=True, add_eos=True, **options)
    return found.tokenizer


def test_calls():
    tok = with_roles()
    low = tok.encode("low")
    assert tok("low")["input_ids"] == [1, *low, 2]
    assert tok("low", add_special_tokens=False)["input_ids"] == low
    assert tok(["low", "slow"])["input_ids"] == [[1, *low, 2], [1, *tok.encode("slow"), 2]]
    found = tok("low", "slow", return_offsets_mapping=True)
    assert found["input_ids"] == [1, *low, 2, 1, *tok.encode("slow"), 2]
    assert found["token_type_ids"] == [0] * (len(low) + 2) + [1] * (len(tok.encode("slow")) + 2)
    assert found["offset_mapping"][0] == (0, 0)
    assert tokenizer()("low")["input_ids"] == tokenizer().encode("low")


def test_calls_that_pad_and_cut():
    tok = with_roles()
    found = tok(["low", "low low lowest"], padding=True, return_tensors="np")
    assert found["input_ids"].shape == found["attention_mask"].shape
    assert found["input_ids"][0, -1] == tok.special_ids["<pad>"]
    assert found["attention_mask"].sum() == sum(
        map(len, tok(["low", "low low lowest"])["input_ids"])
    )
    assert len(tok("low " * 50, truncation=True, max_length=9)["input_ids"]) == 9
    both = tok("low " * 50, "low", truncation=True, max_length=9)
    assert len(both["input_ids"]) == 9
    assert tok.decode(both["input_ids"]).endswith("</s><s> low</s>")
    left = with_roles(padding_side="left", max_length=20)
    found = left("low", padding="max_length")
    assert len(found["input_ids"]) == 20
    assert found["attention_mask"][0] == 0
    assert len(left("low " * 50, truncation=True)["input_ids"]) == 20
    bare = left("low", truncation=True, max_length=0, add_special_tokens=False)
    assert bare["input_ids"] == []


@pytest.mark.parametrize(
    ("args", "options", "words"),
    [
        (("low", ["low"]), {}, "a text goes with a text"),
        ((["low"], ["low", "a"]), {}, "1 texts, but 2"),
        (("low",), {"truncation": True}, "`truncation` needs `max_length`"),
        (("low",), {"truncation": True, "max_length": 1}, "no room for 2 special tokens"),
        (("low",), {"padding": "all"}, "padding"),
        (("low",), {"padding": "max_length"}, "needs `max_length`"),
        (("low",), {"return_tensors": "pt"}, "return_tensors"),
        ((["low", "low low"],), {"return_tensors": "np"}, "needs `padding`"),
    ],
)
def test_calls_that_cannot_be(args, options, words):
    with pytest.raises((InputError, SettingsError), match=words):
        with_roles()(*args, **options)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 40))
def test_of_two_texts_the_longer_is_cut_first(first, second, room):
    kept = lengths_that_fit([first, second], room)
    assert sum(kept) == min(room, first + second)
    assert kept[0] <= first
    assert kept[1] <= second
    if sum(kept) < first + second and kept[0] < first and kept[1] < second:
        assert abs(kept[0] - kept[1]) <= 1


def test_names_and_ids():
    tok = tokenizer()
    assert tok.vocab_size == len(tok) == len(tok.vocabulary)
    assert tok.special_ids == {"<pad>": 0, "<s>": 1, "</s>": 2, "<unk>": 3}
    assert tok.token_to_id(tok.id_to_token(7)) == 7
    assert tok.token_to_id("no such token") is None
    with pytest.raises(InputError):
        tok.id_to_token(-1)
