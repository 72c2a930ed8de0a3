"""volt.verify: two tokenizers of any toolkit on the same text."""

import itertools
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece
from published import hugging_face, sentencepiece_model

import volt
from volt.foreign.check_lines import NUMBER
from volt.verification import MOST_SHOWN, verify_conversion


@pytest.fixture
def pair(tmp_path):
    """A tokenizer.json, and one with two ids exchanged."""
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    data = json.loads(hugging_face("gpt2"))
    first.write_text(json.dumps(data))
    vocab = data["model"]["vocab"]
    vocab["e"], vocab["t"] = vocab["t"], vocab["e"]
    second.write_text(json.dumps(data))
    return first, second


def test_the_same_tokenizer_gives_the_same_ids(pair, tmp_path):
    (tmp_path / "text").write_text("one\n\n  two\n")
    found = volt.verify(pair[0], pair[0], tmp_path / "text")
    assert found.same and found.differences == []
    assert found.equal == found.documents == NUMBER + 1


def test_differences_are_shown_with_their_context(pair, tmp_path):
    (tmp_path / "text").write_text("Øne\nwx tttt yz\n")
    found = volt.verify(*pair, tmp_path / "text")
    assert not found.same and len(found.differences) == MOST_SHOWN
    first = found.differences[0]
    assert (first.document, first.built_in, first.line) == (1, False, 1)
    assert first.first[: first.same] == first.second[: first.same]
    assert first.first[first.same] != first.second[first.same]
    assert "Øne" in first.text
    assert first.first != first.second
    assert found.equal < found.documents
    # With the same texts under other ids, the pieces are the same.
    assert volt.verify(*pair, tmp_path / "text", texts=True).same
    said = "the tokens are the same and only their ids differ: compare them with `texts`"
    assert said in found.messages


def test_ids_that_were_moved_are_said_to_be(tmp_path):
    """As refit moves them, where some text is cut otherwise too."""
    data = json.loads(hugging_face("gpt2"))
    (tmp_path / "a.json").write_text(json.dumps(data))
    data["model"]["merges"].pop(0)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "tokenizer.json").write_text(json.dumps(data))
    pair = tmp_path / "a.json", tmp_path / "small"
    assert not any("texts" in one for one in volt.verify(*pair).messages[2:])
    (tmp_path / "small" / "id_map.npy").write_bytes(b"")
    said = "there is an id_map.npy: tokens have new ids; compare their texts with `texts`"
    assert said in volt.verify(*pair).messages
    for id_map, moved in (([0, 1, 2, 3], False), ([0, 1, -1, 2], True)):  # extend keeps old ids
        np.save(tmp_path / "small" / "id_map.npy", np.array(id_map))
        messages = volt.verify(*pair).messages
        assert (said in messages) == moved
        gone = [one for one in messages if "1 token of the original" in one]
        assert len(gone) == id_map.count(-1) == any("volt compare says" in one for one in messages)
    found = volt.verify(*pair)
    assert repr(found) == f"<Verification: different ids: {found.equal:,} of 2,000 texts are equal>"


def test_lines_of_a_file_are_counted(pair, tmp_path):
    """Not the file, which differs as a whole wherever a line does."""
    text = tmp_path / "text"
    text.write_text("xx\n" * 500 + "et\n" * 3)
    command = [sys.executable, "-m", "volt", "verify", *pair, "--on", text]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    first, second = done.stdout.splitlines()[:2]
    assert re.fullmatch(r"different ids: [\d,]+ of 2,001 texts differ \([\d,]+ tokens\)", first)
    assert second.startswith("  of your text 3 of 503 lines, of the built-in texts ")
    assert "compare them with --texts" in " ".join(done.stderr.split())


def exchanged(name, folder, one, other):
    """A tokenizer.json, and one with the ids of two tokens exchanged."""
    data = json.loads(hugging_face(name))
    (folder / "a.json").write_text(json.dumps(data))
    vocab = data["model"]["vocab"]
    if isinstance(vocab, list):
        place = {token: i for i, (token, _) in enumerate(vocab)}
        i, k = place[one], place[other]
        vocab[i], vocab[k] = vocab[k], vocab[i]
    else:
        vocab[one], vocab[other] = vocab[other], vocab[one]
    (folder / "b.json").write_text(json.dumps(data))
    return folder / "a.json", folder / "b.json"


@pytest.mark.parametrize(
    ("name", "tokens"),
    [("gpt2", "QZ"), ("llama2", "qz"), ("bert", "qz"), ("t5", "QZ"), ("llama3", "QZ")],
)
def test_ten_lines_of_a_file_are_shown(name, tokens, tmp_path):
    """Line 3 of every five has a token that differs: 20 in all, of which ten are shown."""
    pair = exchanged(name, tmp_path, *tokens)
    lines = ["The  man", "and the   hat", f"of {tokens[0]} {{}} is", "", "to the end\tof it"]
    text = "".join("\n".join(lines).format(i) + "\n" for i in range(20))
    (tmp_path / "text").write_text(text)
    found = volt.verify(*pair, tmp_path / "text")
    shown = [one for one in found.differences if not one.built_in]
    assert [one.line for one in shown] == [5 * i + 3 for i in range(MOST_SHOWN)]
    assert len(shown) == len(found.differences)
    assert (found.lines, found.lines_different) == (100, 20)
    for i, one in enumerate(shown):
        assert f"of {tokens[0]} {i} is" in one.text
        assert one.first != one.second


def test_the_line_is_right_where_spaces_are_dropped(tmp_path):
    """BERT's tokens are shorter than the text, and in small letters."""
    pair = exchanged("bert", tmp_path, "q", "z")
    before = "The    man\t and  The   hat.\n" * 200
    (tmp_path / "text").write_text(before + "See   The    letter Q   here\n" + before)
    found = volt.verify(*pair, tmp_path / "text")
    first, second = found.differences[:2]
    assert (first.document, first.line) == (1, 201) and "letter Q" in first.text
    assert second.built_in


def test_a_difference_over_a_line_end_is_one(tmp_path):
    """Line ends that one of the two puts together."""
    data = json.loads(hugging_face("gpt2"))
    (tmp_path / "a.json").write_text(json.dumps(data))
    vocab, merges = data["model"]["vocab"], data["model"]["merges"]
    vocab["ĊĊ"] = len(vocab)
    merges.append(["Ċ", "Ċ"] if isinstance(merges[0], list) else "Ċ Ċ")
    (tmp_path / "b.json").write_text(json.dumps(data))
    (tmp_path / "text").write_text("one\ntwo\n\n\nthree\n\n\n\nfour\n")
    found = volt.verify(tmp_path / "a.json", tmp_path / "b.json", tmp_path / "text")
    assert [one.line for one in found.differences if not one.built_in] == [2, 5]
    assert (found.lines, found.lines_different) == (9, 2)


def test_a_conversion_is_verified(tmp_path):
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    (tmp_path / "a.model").write_bytes(sentencepiece_model("bpe", **plain))
    vocabulary, _ = volt.import_vocabulary(tmp_path / "a.model")
    volt.export(vocabulary, "hf", tmp_path / "hf")
    found = volt.verify(tmp_path / "a.model", tmp_path / "hf", texts=True)
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a.model"))
    assert found.tokens == sum(map(len, model.encode(volt.foreign.check_lines.built_in())))
    assert found.equal > 0.9 * NUMBER  # names of special tokens are found by one of the two


def test_the_command_exits_with_the_answer(pair, tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "volt", "verify", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    same = run(pair[0], pair[0])
    assert same.returncode == 0, same.stderr
    assert same.stdout.startswith("the same ids: 2,000 of 2,000 texts are equal")
    assert "encoded by volt: the same ids as tokenizers" in " ".join(same.stderr.split())
    other = run(*pair, "--json", "-q")
    assert other.returncode == 1 and other.stderr == ""
    data = json.loads(other.stdout)
    assert not data["same"] and len(data["differences"]) == MOST_SHOWN
    assert run(*pair, "--texts").returncode == 0
    assert run(pair[0], tmp_path / "none").returncode == 2


def test_differences_at_names_of_special_tokens_are_told_apart(pair, tmp_path):
    """A token that one of two finds in text, and the other takes for plain text."""
    data = json.loads(pair[0].read_text())
    data["added_tokens"] = []
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(data))
    text = tmp_path / "text"
    text.write_text("one<|endoftext|>two")
    found = volt.verify(pair[0], plain, text)
    assert found.only_at_names and found.at_names == found.documents - found.equal > 1
    command = [sys.executable, "-m", "volt", "verify", pair[0], plain, "--on", text, "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "different ids, at names of special tokens only: " in done.stdout
    # Here all the text differs, between names too.
    found = volt.verify(*pair, text)
    assert not found.only_at_names and found.at_names < found.documents - found.equal
    assert not volt.verify(pair[0], pair[0], text).only_at_names


def test_conversions_say_it_in_the_same_words(pair, tmp_path):
    """Gemma's added tokens are ordinary ones to volt."""
    gemma = tmp_path / "tokenizer.json"
    gemma.write_text(hugging_face("gemma"))
    told = verify_conversion(volt.import_vocabulary(gemma)[0], gemma)
    assert re.match("warning: different ids, at names of special tokens only: [0-9,]+ of", told)
    vocabulary, _ = volt.import_vocabulary(pair[0])
    assert verify_conversion(vocabulary, pair[1]).startswith("warning: different ids: ")
    assert verify_conversion(vocabulary, pair[0]).startswith("verified: ")


def test_converting_says_how_many_texts_are_equal(tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "volt", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    (tmp_path / "tokenizer.json").write_text(hugging_face("gpt2"))
    read = run("import", tmp_path / "tokenizer.json", "-o", tmp_path / "out")
    assert read.returncode == 0, read.stderr
    # The names of special tokens are tried too.
    equal = re.search(r"verified: ([\d,]+) of ([\d,]+) built-in texts have the same", read.stderr)
    assert equal and equal[1] == equal[2] and equal[1] >= "2,000", read.stderr
    assert f"wrote {tmp_path / 'out' / 'volt.json'}" in " ".join(read.stderr.split())
    last = read.stderr.splitlines()[-1]
    assert last == f"next: volt encode -m {tmp_path / 'out'} FILE"
    for to, library in (("hf", "tokenizers"), ("gpt2", "tokenizers")):
        done = run("export", "-m", tmp_path / "out", "--to", to, "-o", tmp_path / to)
        assert done.returncode == 0, done.stderr
        assert (
            f"{equal[1]} of {equal[1]} built-in texts have the same ids in {library}" in done.stderr
        )


@pytest.mark.parametrize("pretokenizer", ["metaspace", "byte-level", "byte-level:llama3"])
def test_a_result_and_its_export_are_the_same(tmp_path, pretokenizer):
    words = ["".join(pair) for pair in itertools.product("bdfg", "aeiou", "lmnr", ["", "st", "ed"])]
    lines = ["the low lower lowest", "  newer <s> wider\ttext", "", "a▁b the newest"] * 9
    lines += [" ".join(words[i::9]) for i in range(9)] * 2
    text = tmp_path / "text"
    text.write_text("\n".join(lines), encoding="utf-8")
    volt.learn(text, pretokenizer=pretokenizer, size=360).save(tmp_path / "out")
    volt.export(volt.load(tmp_path / "out").vocabulary, "hf", tmp_path / "hf")
    for pair in (["out", "hf"], ["hf", "out"]):
        found = volt.verify(*(tmp_path / one for one in pair), on=text)
        assert found.same, found.differences
        assert any("volt's vocabulary is used as tokenizers" in one for one in found.messages)
    other = volt.learn(text, pretokenizer=pretokenizer, size=340)
    other.save(tmp_path / "other")
    assert not volt.verify(tmp_path / "other", tmp_path / "hf", on=text).same


def test_what_is_added_around_a_text_is_said_where_it_differs(tmp_path):
    data = json.loads(hugging_face("gpt2"))
    (tmp_path / "plain.json").write_text(json.dumps(data))
    name = data["added_tokens"][0]["content"]
    text, end = (
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": name, "type_id": 0}},
    )
    number = data["added_tokens"][0]["id"]
    data["post_processor"] = {
        "type": "TemplateProcessing", "single": [end, end, text, end], "pair": [text],
        "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]}},
    }  # fmt: skip
    (tmp_path / "around.json").write_text(json.dumps(data))
    found = volt.verify(tmp_path / "plain.json", tmp_path / "around.json")
    assert found.same
    added = f"adds {name} {name} ... {name}"
    said = f"not compared is what is added around a text: A adds nothing, B {added}"
    assert said in found.messages
    same = volt.verify(tmp_path / "around.json", tmp_path / "around.json")
    assert not any("around" in one for one in same.messages)
    # A role is one token: two before a text are more than volt can say.
    vocabulary, _ = volt.import_vocabulary(tmp_path / "around.json")
    assert f"{added}, volt adds nothing" in verify_conversion(
        vocabulary, tmp_path / "around.json", "hf"
    )
    data["post_processor"]["single"] = [end, text]
    (tmp_path / "around.json").write_text(json.dumps(data))
    vocabulary, _ = volt.import_vocabulary(tmp_path / "around.json")
    assert vocabulary.roles.add_bos
    assert "warning" not in verify_conversion(vocabulary, tmp_path / "around.json", "hf")


def test_settings_of_generation_that_are_not_imported_are_named(tmp_path):
    data = json.loads(hugging_face("gpt2"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(data))
    settings = {"top_p": 0.9, "transformers_version": "5"}
    (tmp_path / "generation_config.json").write_text(json.dumps(settings))
    _, messages = volt.import_vocabulary(tmp_path)
    assert [one for one in messages if "generation_config" in one] == [
        "generation_config.json is the model's and not taken over (top_p); the ids stay, so keep "
        "it as it is"
    ]
    (tmp_path / "generation_config.json").write_text('{"transformers_version": "5"}')
    assert not any("generation" in one for one in volt.import_vocabulary(tmp_path)[1])


def test_a_vocabulary_that_was_imported_is_exported_with_a_warning(tmp_path):
    """The model's own settings of generation have several ids that end a text."""
    (tmp_path / "tokenizer.json").write_text(hugging_face("gpt2"))
    vocabulary, _ = volt.import_vocabulary(tmp_path)
    told = volt.export(vocabulary, "hf", tmp_path / "out").messages
    assert any(one.startswith("warning: generation_config.json is made from") for one in told)
    assert not any("generation" in one for one in
                   volt.export(vocabulary, "hf", tmp_path / "one.json").messages)  # fmt: skip
    (tmp_path / "text").write_text("one two three\n" * 9)
    learned = volt.learn(tmp_path / "text", size=275).vocabulary
    told = volt.export(learned, "hf", tmp_path / "own").messages
    assert not any("generation" in one for one in told)


def test_an_extended_tokenizer_is_said_to_have_more_tokens(pair, tmp_path):
    text = tmp_path / "text"
    text.write_text("Zebra quagga\n" * 9, encoding="utf-8")
    volt.extend(pair[0], text, 2).save(tmp_path / "larger")
    for texts in (False, True):
        found = volt.verify(pair[0], tmp_path / "larger", text, texts=texts)
        said = "B has the tokens of A, with the same ids, and 2 more: text that these fit is cut "
        assert not found.same and any(one.startswith(said) for one in found.messages)
    assert not any("compare the" in one for one in found.messages)
    volt.extend(pair[0], text, 2, swap=True).save(tmp_path / "swapped")
    found = volt.verify(pair[0], tmp_path / "swapped", text, texts=True)
    assert any("it lacks 2 tokens" in one for one in found.messages)
    assert not any("compare their texts" in one for one in found.messages)


def test_differences_are_marked_and_byte_letters_are_readable(pair, tmp_path):
    text = tmp_path / "text"
    text.write_text("to the end", encoding="utf-8")
    found = volt.verify(*pair, text, texts=False)
    assert not any("Ġ" in one for difference in found.differences for one in difference.first)
    assert any("␣" in one for difference in found.differences for one in difference.first)
    command = [sys.executable, "-m", "volt", "verify", *map(str, pair), "--on", str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "\nyour text 1, line 1: " in done.stdout and " | " in done.stdout
