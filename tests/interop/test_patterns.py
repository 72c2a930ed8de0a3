"""Byte-level files with other patterns than GPT-2's: the same ids as the real libraries."""

import json
import random
from base64 import b64encode
from dataclasses import replace
from functools import lru_cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from real import real_text
from samples import sample_lines, text_of_13

import volt
from volt import Tokenizer, reference
from volt.counting.marks import BYTE_LETTERS
from volt.counting.words import PRETOKENIZERS
from volt.foreign.engine_choice import open_engine
from volt.formats.patterns import known_patterns, known_to_tiktoken
from volt.verification import verify_conversion

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers  # noqa: E402

PATTERNS = {name: pattern for pattern, name in known_patterns().items()}
PARTS = [*"aASǅſ1²!/'«\u0301é日 \t\n\r\u00a0\u3000\u2028\u0085", "'s", "'LL", "'Re", "12345",
         "\r\n", "  ", "def f(x):", "\n    ", "return", "!!\n\n", " \n ", "<s>"]  # fmt: skip
texts = text_of_13 | st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


def multi_line_texts():
    """Lines with what the patterns tell apart between them."""
    generator = random.Random(4)
    lines = sample_lines()
    return ["".join(generator.choices([*lines[:99], *PARTS * 4], k=40)) for _ in range(300)]


@lru_cache
def trained(pretokenizer, removed=False, normalizer=None):
    other = tokenizers.Tokenizer(models.BPE())
    pattern = Regex(PATTERNS[pretokenizer])
    other.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern, "removed", invert=True) if removed
            else pre_tokenizers.Split(pattern, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )  # fmt: skip
    if normalizer is not None:
        other.normalizer = normalizer()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<s>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    other.train_from_iterator(multi_line_texts(), trainer)
    return other


def imported(other, folder):
    other.save(str(folder / "tokenizer.json"))
    vocabulary, messages = volt.import_vocabulary(folder / "tokenizer.json")
    assert not messages
    return vocabulary


def check_there_and_back(tok, other, folder):
    """The same ids as the other's; written, read and written again the same bytes, and the same ids
    still. Returns what the library reads."""
    first = volt.export(tok.vocabulary, "hf", folder / "one").files
    again, _ = volt.import_vocabulary(folder / "one")
    second = volt.export(again, "hf", folder / "two").files
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    written = tokenizers.Tokenizer.from_file(str(first[0]))
    for text in multi_line_texts():
        ids = other.encode(text).ids
        assert tok.encode(text, allowed_special="all") == ids
        assert written.encode(text).ids == ids
    return written


@pytest.mark.parametrize("pretokenizer", PATTERNS)
def test_hugging_face(pretokenizer, tmp_path):
    other = trained(pretokenizer)
    vocabulary = imported(other, tmp_path)
    assert vocabulary.rule.pretokenizer == pretokenizer
    assert not vocabulary.unreachable
    vocabulary.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json", threads=1)

    @given(texts)
    @example("a12345!b «c» !\r\n\n  d \n \t\n  ?\n \u0301e\n ")
    @example("I'LL'ſ 'S's 's\t's!'s''s 'sx")
    @example("ABc日D's camelCase HTTPServer!\u0301A \u0301AB \u0301Ab /\n//\r!/\n日A's")
    def check(text):
        ids = tok.encode(text, allowed_special="all")
        assert other.encode(text).ids == ids
        assert tok.decode(ids) == text

    check()
    check_there_and_back(tok, other, tmp_path)


def test_other_ways_to_write_it(tmp_path):
    """GPT-4's file removes what is between matches, Qwen's normalizes first."""
    for other in (
        trained("byte-level:llama3", removed=True),
        trained("byte-level:qwen2", normalizer=normalizers.NFC),
    ):
        tok = Tokenizer(imported(other, tmp_path), threads=1)
        for text in (*multi_line_texts(), "e\u0301 'ſ"):
            assert tok.encode(text, allowed_special="all") == other.encode(text).ids


@pytest.mark.parametrize("pattern", known_to_tiktoken())
def test_tiktoken(pattern, tmp_path, monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")
    from tiktoken.load import load_tiktoken_bpe

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    pretokenizer = known_to_tiktoken()[pattern]
    vocabulary = replace(imported(trained(pretokenizer), tmp_path), merge_rule="concat")
    files = volt.export(vocabulary, "tiktoken", tmp_path / "a.tiktoken").files
    settings = json.loads(files[1].read_text())
    assert settings["pat_str"] == PATTERNS[pretokenizer]
    files[1].write_text(json.dumps(settings | {"pat_str": pattern}))
    read, messages = volt.import_vocabulary(files[0])
    assert not messages
    assert read.rule.pretokenizer == pretokenizer
    ranks = load_tiktoken_bpe(str(files[0]))
    others = [
        tiktoken.Encoding("volt", mergeable_ranks=ranks, **settings | {"pat_str": one})
        for one in {pattern, PATTERNS[pretokenizer]}
    ]
    tok = Tokenizer(read, threads=1)

    @given(texts)
    @example("a12345!b «c» !\r\n\n  d \n \t\n  ?\n \u0301e\n ")
    @example("I'LL'ſ 'S's 's\t's!'s''s 'sx")
    @example("ABc日D's camelCase HTTPServer!\u0301A \u0301AB \u0301Ab /\n//\r!/\n日A's")
    def check(text):
        for other in others:
            assert other.encode_ordinary(text) == tok.encode(text)
            assert other.encode(text, allowed_special="all") == tok.encode(
                text, allowed_special="all"
            )

    check()
    again = volt.export(read, "tiktoken", tmp_path / "b.tiktoken").files
    assert again[0].read_bytes() == files[0].read_bytes()


def test_learned(tmp_path):
    """What volt learns by such a pattern is encoded alike elsewhere."""
    vocabulary = volt.learn(
        [multi_line_texts()], size=800, pretokenizer="byte-level:cl100k"
    ).vocabulary
    assert not vocabulary.unreachable
    file = volt.export(vocabulary, "hf", tmp_path).files[0]
    other = tokenizers.Tokenizer.from_file(str(file))
    tok = Tokenizer(vocabulary)
    for text in multi_line_texts():
        assert other.encode(text).ids == tok.encode(text, allowed_special="all")
    with pytest.raises(volt.SettingsError, match="by the pre-tokenizer byte-level, not by"):
        volt.export(vocabulary, "gpt2", tmp_path / "refused")
    assert not (tmp_path / "refused").exists()


def test_refitted(tmp_path):
    imported(trained("byte-level:llama3"), tmp_path)
    result = volt.refit(tmp_path / "tokenizer.json", [multi_line_texts()[:60]], size=500)
    result.save(tmp_path / "out")
    other = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    tok = Tokenizer(result.vocabulary)
    for text in multi_line_texts():
        assert other.encode(text).ids == tok.encode(text, allowed_special="all")


WHOLE = [" xylophone", " 日本日本", "return!", "\n" * 9, "2024", "x", " "]


@lru_cache
def with_unmerged(pretokenizer):
    """As Llama 3 has it: some tokens no merges lead to, and a word that is one is one."""
    data = json.loads(trained(pretokenizer).to_str())
    model = data["model"]
    generator = random.Random(6)
    model["merges"] = [merge for merge in model["merges"] if generator.random() < 0.9]
    for word in WHOLE:
        letters = word.encode().decode("latin-1").translate(BYTE_LETTERS)
        model["vocab"].setdefault(letters, len(model["vocab"]))
    return tokenizers.Tokenizer.from_str(
        json.dumps(data | {"model": model | {"ignore_merges": True}})
    )


@pytest.mark.parametrize("pretokenizer", ["byte-level", "byte-level:llama3"])
def test_words_that_are_tokens_are_not_merged(pretokenizer, tmp_path):
    other = with_unmerged(pretokenizer)
    other.save(str(tmp_path / "tokenizer.json"))
    vocabulary, _ = volt.import_vocabulary(tmp_path / "tokenizer.json")
    assert vocabulary.whole_words
    assert {"Ġxylophone", "return!", "2024"} <= set(vocabulary.of_kind("piece"))
    vocabulary.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json", threads=1)

    @given(texts | st.lists(st.sampled_from(WHOLE), max_size=8).map("".join))
    def check(text):
        ids = tok.encode(text, allowed_special="all")
        assert other.encode(text).ids == ids
        assert tok.decode(ids) == text
        plain = [tok.tokens[i] for i in tok.encode(text)]
        assert plain == reference.encode.encode(text, vocabulary)

    check()
    written = check_there_and_back(tok, other, tmp_path)
    assert written.encode(" xylophone").ids == tok.encode(" xylophone")
    with pytest.raises(volt.SettingsError, match="GPT-2"):
        volt.export(replace(vocabulary, rule=volt.WordRule("byte-level")), "gpt2", tmp_path / "no")
    result = volt.refit(tmp_path / "tokenizer.json", [multi_line_texts()[:60]], size=600)
    result.save(tmp_path / "out")
    smaller = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    ours = Tokenizer(result.vocabulary)
    for text in multi_line_texts()[:100]:
        assert smaller.encode(text).ids == ours.encode(text, allowed_special="all")


def test_a_look_up_that_changes_nothing_is_left_out(tmp_path):
    data = json.loads(trained("byte-level:llama3").to_str())
    data["model"]["ignore_merges"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    assert not volt.import_vocabulary(tmp_path / "tokenizer.json")[0].whole_words
    data["pre_tokenizer"] = {"type": "Whitespace"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match="ignore_merges"):
        volt.import_vocabulary(tmp_path / "tokenizer.json")


def test_tiktoken_looks_words_up(tmp_path, monkeypatch):
    tiktoken = pytest.importorskip("tiktoken")
    pretokenizer = "byte-level:cl100k"
    ranks = {bytes([byte]): byte for byte in range(256)}
    for number, word in enumerate(["lo", "low", " xylophone", "yx", " lower", "er", "\n\n"]):
        ranks[word.encode()] = 256 + number
    lines = [f"{b64encode(word).decode()} {rank}\n" for word, rank in ranks.items()]
    settings = {
        "pat_str": PATTERNS[pretokenizer],
        "special_tokens": {"<|end|>": 264, "<|x|>": 270},
    }
    (tmp_path / "x.tiktoken").write_text("".join(lines))
    (tmp_path / "x.tiktoken.json").write_text(json.dumps(settings))
    vocabulary, messages = volt.import_vocabulary(tmp_path / "x.tiktoken")
    assert "6 ids, such as 263" in messages[0]
    assert (len(vocabulary), vocabulary.whole_words) == (271, True)
    other = tiktoken.Encoding("x", mergeable_ranks=ranks, **settings)
    tok = Tokenizer(vocabulary, threads=1)

    @given(
        st.lists(st.sampled_from(["lo", "low", "er", " ", "xylophone", "yx", "\n"])).map("".join)
    )
    def check(text):
        assert other.encode(text) == tok.encode(text)

    check()
    assert tok.encode("<|end|><|x|>", allowed_special="all") == [264, 270]
    (tmp_path / "x.tiktoken.json").unlink()
    with pytest.raises(volt.SettingsError, match="name it with `pattern`"):
        volt.import_vocabulary(tmp_path / "x.tiktoken")  # nothing is guessed
    for pattern in ("byte-level:qwen2", PRETOKENIZERS["byte-level:qwen2"].pattern):
        read, _ = volt.import_vocabulary(tmp_path / "x.tiktoken", pattern=pattern)
        assert read.rule.pretokenizer == "byte-level:qwen2"
    read, _ = volt.import_vocabulary(tmp_path / "x.tiktoken", pattern=r"\s?\w+|.")
    assert read.rule.pretokenizer == r"custom:\s?\w+|."


def test_ids_that_no_token_has(tmp_path):
    """GPT-4's special tokens leave some out."""
    data = json.loads(trained("byte-level:llama3").to_str())
    size = len(data["model"]["vocab"])
    new = data["added_tokens"][0]
    data["added_tokens"] += [
        new | {"id": size + 1, "content": "<|a|>"},
        new | {"id": size + 4, "content": "<|b|>"},
    ]
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(data))
    vocabulary, messages = volt.import_vocabulary(file)
    assert f"3 ids, such as {size}," in messages[0]
    assert vocabulary.ids["<|b|>"] == size + 4
    assert vocabulary.texts[size] == f"<|unused-{size}|>"
    data["added_tokens"][-1]["id"] = size + 10_000
    file.write_text(json.dumps(data))
    with pytest.raises(volt.InputError, match="ids are not"):
        volt.import_vocabulary(file)


def test_other_patterns_are_refused_with_their_text(tmp_path):
    file = tmp_path / "tokenizer.json"
    trained("byte-level:llama3").save(str(file))
    data = json.loads(file.read_text())
    split = data["pre_tokenizer"]["pretokenizers"][0]
    for change in (
        # To Hugging Face this is any number of digits, to tiktoken three.
        {"pattern": {"Regex": PATTERNS["byte-level:llama3"].replace("{1,3}", "{1,3}+")}},
        {"pattern": {"String": "x"}},
        {"behavior": "MergedWithNext"},
        {"invert": True},
    ):
        steps = [split | change, data["pre_tokenizer"]["pretokenizers"][1]]
        pre_tokenizer = {"type": "Sequence", "pretokenizers": steps}
        file.write_text(json.dumps(data | {"pre_tokenizer": pre_tokenizer}))
        with pytest.raises(volt.InputError, match="pre_tokenizer") as caught:
            volt.import_vocabulary(file)
        assert json.dumps(next(iter(change.values())), ensure_ascii=False) in str(caught.value)


def test_a_pattern_that_volt_has_no_scanner_for(tmp_path):
    """Python runs it. To Hugging Face `\\w` has more characters, and that is said."""
    file = tmp_path / "tokenizer.json"
    trained("byte-level:llama3").save(str(file))
    data = json.loads(file.read_text())
    for pattern, equal in ((r"\p{Thai}+|[a-z]{1,2}| ?\w+", False), (r" ?\p{L}{1,2}|\p{N}+", True)):
        data["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {"Regex": pattern}
        file.write_text(json.dumps(data))
        read, _ = volt.import_vocabulary(file)
        assert read.rule.pretokenizer == f"custom:{pattern}"
        told = verify_conversion(read, file)
        assert ("2,004 of 2,004" in told) == equal == ("warning" not in told)
        assert "slower" in open_engine(file).said  # so the library runs it


def test_real_text(volt_data, tmp_path):
    for name in ("multi30k/valid.de", "tatoeba-ja-en/train.ja"):
        path = volt_data(name)
        lines = real_text(path).split("\n")[:2000]
        for pretokenizer in PATTERNS:
            vocabulary = volt.learn([lines], pretokenizer=pretokenizer, size=1500).vocabulary
            file = volt.export(vocabulary, "hf", tmp_path / "x.json", force=True).files[0]
            other = tokenizers.Tokenizer.from_file(str(file))
            whole = ["\n".join(lines[i : i + 40]) for i in range(0, len(lines), 40)]
            expected = Tokenizer(vocabulary).encode_batch([*lines, *whole])
            assert [one.ids for one in other.encode_batch([*lines, *whole])] == expected
