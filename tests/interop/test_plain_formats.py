"""fairseq, Marian and plain lists; which format a file has; the commands."""

import json
import random
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from samples import learned, letter_texts, made_up, sample_lines, tokenizer_of

import volt
from volt.counting.marks import WORD_END
from volt.formats import FORMATS, detect, merges
from volt.tokenizing.roles import Roles

PRETOKENIZERS = ["metaspace", "whitespace", "byte-level"]
LISTS = ["fairseq", "marian", "text"]


def printed(vocabulary, text):
    tok = tokenizer_of(vocabulary)
    return [tok.printed[i] for i in tok.encode(text)]


def fairseq_ids(path):
    """As fairseq.data.Dictionary does."""
    ids = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        token, count = line.rstrip().rsplit(" ", 1)
        assert token not in ids
        assert int(count) >= 0
        ids[token] = len(ids)
    return ids


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_fairseq_knows_every_token(pretokenizer, tmp_path):
    vocabulary = learned(pretokenizer, symbols=("<2de>",))
    (path,) = volt.export(vocabulary, "fairseq", tmp_path / "dict.txt").files
    ids = fairseq_ids(path)
    assert set(ids) == set(tokenizer_of(vocabulary).printed)
    for line in sample_lines():
        tokens = printed(vocabulary, line)
        assert " ".join(tokens).split() == tokens  # fairseq splits at any white space
        assert all(token in ids for token in tokens)
    read, _ = volt.import_vocabulary(path)
    tok = tokenizer_of(read)
    assert {name: i for i, name in enumerate(tok.printed)} == ids


@pytest.mark.parametrize("encoding", ["merge", "split"])
def test_the_dictionary_of_fairseq_fits_the_codes_beside_it(encoding, tmp_path):
    """subword-nmt cuts the text by the codes; every token is in the dictionary, and stands for what
    it does in volt."""
    apply_bpe = pytest.importorskip("subword_nmt.apply_bpe")
    found = learned("whitespace", encoding=encoding)
    vocabulary = replace(found, roles=Roles(eos="<s>", bos="</s>"))
    result = volt.export(vocabulary, "fairseq", tmp_path / "dict.txt")
    path, codes, listed = result.files
    assert any("cuts at every white space" in message for message in result.messages)
    ids = fairseq_ids(path)
    known = None
    if encoding == "split":
        with listed.open(encoding="utf-8") as stream:
            known = apply_bpe.read_vocabulary(stream, 0)
    with codes.open(encoding="utf-8") as stream:
        peer = apply_bpe.BPE(stream, vocab=known)
    tok = tokenizer_of(vocabulary)
    number_of = {WORD_END.joined(text): i for i, text in enumerate(tok.tokens)}
    seen = 0
    for line in sample_lines():
        if vocabulary.unknown_id in tok.encode(line) or line.split(" ") != line.split():
            continue  # subword-nmt leaves unknown characters as they are, and cuts at spaces only
        tokens = peer.process_line(line).split()
        assert all(token in ids for token in tokens)
        assert [number_of[token] for token in tokens] == tok.encode(line)
        seen += len(tokens)
    assert seen > 5000
    read, _ = volt.import_vocabulary(path)
    assert [volt.Tokenizer(read).printed[i] for i in volt.Tokenizer(read).encode("bada lo")] == [
        tok.printed[i] for i in tok.encode("bada lo")
    ]


def test_roles_that_fairseq_and_marian_have_are_not_listed_again(tmp_path):
    text = [["low lower lowest"] * 3]
    names = {"pad": "[P]", "bos": "[B]", "eos": "[E]", "unk": "[U]", "mask": "[M]"}
    vocabulary = volt.learn(text, size=19, pretokenizer="whitespace", **names).vocabulary
    path = volt.export(vocabulary, "fairseq", tmp_path / "dict.txt").files[0]
    assert not {"[P]", "[B]", "[E]", "[U]"} & fairseq_ids(path).keys()
    assert "[M]" in fairseq_ids(path)
    (path,) = volt.export(vocabulary, "marian", tmp_path / "vocab.yml").files
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[:3] == ['"</s>": 0', '"<unk>": 1', '"[M]": 2']


@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_marian(pretokenizer, tmp_path):
    vocabulary = learned(pretokenizer)
    (path,) = volt.export(vocabulary, "marian", tmp_path / "vocab.yml").files
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines[:2] == ['"</s>": 0', '"<unk>": 1']
    yaml = pytest.importorskip("yaml")
    table = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert sorted(table.values()) == list(range(len(table)))
    assert set(table) == set(tokenizer_of(vocabulary).printed) - {"<pad>", "<s>"}


@pytest.mark.parametrize("encoding", ["merge", "split"])
@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("pretokenizer", PRETOKENIZERS)
def test_round_trip(pretokenizer, form, encoding, tmp_path):
    with_codes = form == "fairseq" and pretokenizer == "whitespace"
    symbols = () if with_codes else ("<2de>",)
    vocabulary = learned(pretokenizer, "concat", encoding, symbols=symbols)
    first = volt.export(vocabulary, form, tmp_path / "a").files
    read, messages = volt.import_vocabulary(first[0], form)
    assert with_codes or "no merges" in messages[-1]
    second = volt.export(read, form, tmp_path / "b").files
    assert len(first) == (3 if with_codes else 1)
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]
    read.save(tmp_path / "volt.json")
    tok = volt.load(tmp_path / "volt.json")
    assert read.rule.pretokenizer == pretokenizer
    if encoding == "merge":
        for text in sample_lines()[:200]:
            assert [tok.printed[i] for i in tok.encode(text)] == printed(vocabulary, text)


def test_a_list_of_words_gets_hidden_tokens(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("<unk>\n▁\na\nb\nc\nd\n▁abc\n▁abcd\n[MASK]\ndab\n")
    vocabulary, messages = volt.import_vocabulary(path)
    assert vocabulary.of_kind("special") == ["<unk>", "[MASK]"]
    assert [token.text for token in vocabulary.hidden] == ["▁a", "▁ab", "da"]
    assert "[MASK]" in messages[0]
    tok = tokenizer_of(vocabulary)
    assert [tok.tokens[i] for i in tok.encode("abcd abcx")] == [
        "▁abcd", "▁abc", "<unk>",
    ]  # fmt: skip
    assert [tok.tokens[i] for i in tok.encode("ab")] == ["▁", "a", "b"]


def test_a_text_token_named_like_one_of_fairseq_is_refused(tmp_path):
    vocabulary = learned("byte-level")
    tokens = [t._replace(text="<none>") if t.text == "<s>" else t for t in vocabulary.tokens]
    tokens[-1] = tokens[-1]._replace(text="<s>")
    with pytest.raises(volt.VoltError, match="<s>"):
        volt.export(replace(vocabulary, tokens=tokens), "fairseq", tmp_path / "x")


@pytest.mark.parametrize(
    ("form", "content", "named"),
    [
        ("fairseq", "a\n", "line 1"),
        ("fairseq", "a x\n", "line 1"),
        ("fairseq", "▁ 1\n▁ 2\n", "line 2"),
        ("fairseq", "<s> 1\n", "line 1"),
        ("fairseq", "a 1\nb 2\n", "mark"),
        ("fairseq", "▁ 999999999999999999999999\n", "line 1"),
        ("fairseq", "", "mark"),
        ("marian", "a: x\n", "line 1"),
        ("marian", '"a: 0\n', "line 1"),
        ("marian", '"\\q": 0\n', "line 1"),
        ("marian", '"▁": 0\n"▁": 1\n', "line 2"),
        ("marian", '"▁": 0\n', "first two"),
        ("marian", '"▁": 1\n', "ids"),
        ("text", "<unk>\n▁\na\na\n", "twice"),
        ("text", "▁\n\n<unk>\n", "empty"),
        ("text", "▁\na\n", "<unk>"),
        ("text", "▁\n\\u{FFFFFF}\n<unk>\n", "line 2"),
        ("text", "▁\n\\u{D800}\n<unk>\n", "surrogate"),
        ("text", "▁\n<unk>\n▁" + "a" * 5000, "characters"),
    ],
)
def test_broken_lists_are_refused(form, content, named, tmp_path):
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(volt.VoltError, match=named):
        volt.import_vocabulary(path, form)


def test_invalid_utf8_and_missing_files(tmp_path):
    path = tmp_path / "list"
    path.write_bytes(b"a\n\xff\n")
    for form in FORMATS:
        if form == "sentencepiece":
            continue
        for file in (path, tmp_path / "nowhere"):
            with pytest.raises(volt.VoltError):
                volt.import_vocabulary(file, form)
    with pytest.raises(volt.VoltError):
        volt.import_vocabulary(tmp_path)


def test_the_format_is_told_by_content(tmp_path):
    for form, vocabulary in {
        "hf": learned("metaspace"),
        "sentencepiece": learned("metaspace"),
        "subword-nmt": learned("whitespace"),
        "gpt2": learned("byte-level"),
        "tiktoken": learned("byte-level"),
        "fairseq": learned("metaspace"),
        "marian": learned("metaspace"),
        "text": learned("whitespace"),
    }.items():
        if form == "sentencepiece":
            pytest.importorskip("google.protobuf")
        (first, *_) = volt.export(vocabulary, form, tmp_path / form).files
        assert detect(first) == form
        plain = tmp_path / f"{form}-plain"
        plain.write_bytes(first.read_bytes())
        assert detect(plain) == form


@pytest.mark.parametrize("form", list(FORMATS))
def test_damaged_files_are_read_or_refused(form, tmp_path):
    """Whatever happens to a file: a VoltError, or a vocabulary that loads."""
    if form == "sentencepiece":
        pytest.importorskip("google.protobuf")
    needs = {"subword-nmt": "whitespace", "gpt2": "byte-level", "tiktoken": "byte-level"}
    vocabulary = made_up(needs.get(form, "metaspace"), "concat", 1)
    generator = random.Random(form)
    first = volt.export(vocabulary, form, tmp_path / form).files[0]
    good = first.read_bytes()
    for _ in range(40):
        data = bytearray(good)
        for _ in range(generator.choice([1, 1, 2, 8])):
            start = generator.randrange(len(data))
            end = min(len(data), start + generator.choice([1, 1, 5, 60]))
            part = bytes(data[start:end])
            data[start:end] = generator.choice(
                [b"", part * 2, bytes([generator.randrange(256)]), b"9", b'"', b"\n", part[::-1]]
            )
        first.write_bytes(data)
        try:
            read, _ = volt.import_vocabulary(first, form)
        except volt.VoltError:
            continue
        read.save(tmp_path / "volt.json")
        volt.load(tmp_path / "volt.json")


def test_a_token_is_merged_from_one_pair_only():
    """The proof in tokenizing/merge_pairs.py, tried: volt's own encoder under both rules."""
    tried = 0
    for seed in range(60):
        vocabulary = made_up("metaspace", "concat", seed)
        if merges.delayed_tokens(vocabulary):
            continue  # rule pairs wants parents of a lower rank
        tried += 1
        last = merges.last_pairs(vocabulary)
        number = {token.text: i for i, token in enumerate(vocabulary.tokens)}
        other = replace(
            vocabulary,
            merge_rule="pairs",
            tokens=[
                t._replace(parents=(number[last[t.text][0]], number[last[t.text][1]]))
                if t.text in last
                else t
                for t in vocabulary.tokens
            ],
        )
        texts = letter_texts(seed)
        expected = tokenizer_of(vocabulary).encode_batch(texts)
        assert tokenizer_of(other).encode_batch(texts) == expected
    assert tried > 10


def test_learned_vocabularies_are_the_same_under_both_rules(volt_data):
    path = volt_data("multi30k/valid.de")
    for pretokenizer in PRETOKENIZERS:
        found = volt.learn(path, pretokenizer=pretokenizer, merges=6000)
        assert merges.differing_tokens(found.vocabulary) == []


# ----------------------------------------------------------------------------------------- commands


def run(*arguments, code=0):
    done = subprocess.run(
        [sys.executable, "-c", "from volt.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    return done


def test_commands(tmp_path):
    (tmp_path / "out").mkdir()
    learned("byte-level").save(tmp_path / "out/volt.json")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sample_lines()))
    done = run(
        "export", "-m", tmp_path / "out", "--to", "tiktoken", "-o", tmp_path / "x.tiktoken",
        "--check", text, "--json",
    )  # fmt: skip
    assert "x.tiktoken" in done.stderr
    assert json.loads(done.stdout)["check"]["types"] == 0
    run("import", tmp_path / "x.tiktoken", "-o", tmp_path / "back", "-q")
    assert volt.load(tmp_path / "back").tokens == learned("byte-level").texts
    done = run("import", tmp_path / "x.tiktoken", "-o", tmp_path / "back", code=2)
    assert "exists" in done.stderr
    run("import", tmp_path / "x.tiktoken", "-o", tmp_path / "back", "--force", "--from", "tiktoken")
    run("export", "-m", tmp_path / "out", "--to", "hf", "-o", tmp_path / "hf", "-q")
    assert (tmp_path / "hf/tokenizer.json").exists()
    checked = ["--check", text, "--force"]
    done = run("export", "-m", tmp_path / "out", "--to", "hf", "-o", tmp_path / "hf", *checked)
    assert re.search(
        r"checked: 0 of [1-9][\d,]* word types \(0 of [1-9]", " ".join(done.stderr.split())
    )
    done = run("export", "-m", tmp_path / "out", "--to", "text", "-o", tmp_path / "l", *checked)
    said = " ".join(done.stderr.split())
    assert "not checked: text is a list of tokens" in said
    assert f"next: volt encode -m {tmp_path / 'out'} train.de -o train.bpe.de" in said
    done = run("export", "-m", tmp_path / "out", "--to", "subword-nmt", "-o", "x", code=2)
    assert "learn with --pretokenizer whitespace" in done.stderr
    done = run("import", text, "-o", tmp_path / "no", code=2)
    assert not (tmp_path / "no").exists()
