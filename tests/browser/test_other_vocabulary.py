"""A vocabulary of another file, dropped on the page: what both have, and how it cuts text."""

import base64
import json

import pytest
from pages import corpus, number

import volt

TEXT = "don't naïve 日本語 1984\n  bada  lo,\tGröße"


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory):
    """A folder, its page, and another vocabulary of the same kind."""
    folder = tmp_path_factory.mktemp("byte-level")
    settings = {"pretokenizer": "byte-level:llama3", "merge_rule": "concat"}
    volt.learn([corpus(3)], size=400, **settings).save(folder / "out")
    volt.learn([corpus(4)], size=480, **settings).save(folder / "other")
    return folder


@pytest.fixture(scope="module")
def byte_page(byte_level, open_page):
    return open_page(byte_level / "out" / "report.html", keep=True)


def choose(page, path):
    page.evaluate("() => document.getElementById('other').replaceChildren()")
    page.set_input_files("#other-file", path)
    page.wait_for_selector("#other h3, #other .doubt")


def cut_by_other(page, text):
    page.fill("#text", text)
    panel = page.query_selector_all("#cuts .cut-panel")[-1]
    found = page.evaluate(
        """(text) => { const {encoder} = voltReport.encoders.at(-1);
             return encoder.encode(text).map(({id}) => id); }""",
        text,
    )
    assert f"{len(found):,} tokens" in panel.inner_text()
    return found


def check_overlap(page, mine, theirs):
    shown = page.evaluate(
        """() => [...document.querySelectorAll("#other .figures > div")].map((one) =>
             one.querySelector("dd").innerText)"""
    )
    heads = [head.inner_text() for head in page.query_selector_all("#other .pair h3")]
    assert number(shown[1]) == len(mine & theirs)
    assert heads == [f"Only here: {len(mine - theirs):,}", f"Only there: {len(theirs - mine):,}"]


def texts_of(folder):
    vocabulary = volt.load(folder).vocabulary
    return {vocabulary.plain_text(text) for text in vocabulary.of_kind("character", "merged")}


@pytest.mark.parametrize("form", ["volt", "hf", "tiktoken"])
def test_a_dropped_vocabulary_is_compared_and_cuts_the_text(byte_page, byte_level, form, tmp_path):
    other = byte_level / "other"
    path = other / "volt.json"
    if form != "volt":
        volt.export(volt.load(other).vocabulary, form, tmp_path / "made")
        path = tmp_path / "made" / "tokenizer.json" if form == "hf" else tmp_path / "made"
    choose(byte_page, path)
    check_overlap(byte_page, texts_of(byte_level / "out"), texts_of(other))
    tokenizer = volt.load(other)
    pieces = [tokenizer.decode_bytes([i]) for i in tokenizer.encode(TEXT)]
    found = cut_by_other(byte_page, TEXT)
    if form == "tiktoken":  # its ids are its ranks
        ranks = [line.split() for line in path.read_bytes().splitlines()]
        named = {int(rank): base64.b64decode(token) for token, rank in ranks}
        assert [named[i] for i in found] == pieces
    else:
        assert found == tokenizer.encode(TEXT)
    byte_page.check_quiet()


def test_a_file_falls_on_the_page(byte_page, byte_level):
    content = (byte_level / "other" / "volt.json").read_text(encoding="utf-8")
    byte_page.evaluate(
        """(content) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([content], "dropped.json"));
          for (const name of ["dragover", "drop"]) {
            dispatchEvent(new DragEvent(name, { dataTransfer: transfer, cancelable: true }));
          }
        }""",
        content,
    )
    byte_page.wait_for_selector("#other h3:text-is('dropped.json')")
    assert byte_page.query_selector_all("#cuts .cut-panel h3")[-1].inner_text() == "dropped.json"
    byte_page.check_quiet()


def test_lists_of_tokens_are_compared(page, learned, tmp_path):
    """A SentencePiece model, WordPiece's list and a list of JSON: compared by what tokens stand
    for, and not cut."""
    import sentencepiece

    mine = texts_of(learned[0])
    (tmp_path / "train").write_text("\n".join(corpus(1)) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "train"), model_prefix=str(tmp_path / "sp"), vocab_size=200,
        model_type="bpe", minloglevel=2, byte_fallback=False,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "sp.model"))
    pieces = [model.id_to_piece(i) for i in range(3, len(model))]
    choose(page, tmp_path / "sp.model")
    check_overlap(page, mine, {piece.replace("▁", " ").encode() for piece in pieces})
    assert "volt compare . sp.model" in page.text("#other")
    (tmp_path / "vocab.txt").write_text("[UNK]\nba\n##da\n##b\nlo\n", encoding="utf-8")
    choose(page, tmp_path / "vocab.txt")
    check_overlap(page, mine, {b" ba", b"da", b"b", b" lo"})
    (tmp_path / "vocab.json").write_text(json.dumps({"</s>": 1, "▁ba": 0, "q": 2}))
    choose(page, tmp_path / "vocab.json")
    check_overlap(page, mine, {b" ba", b"q"})
    page.check_quiet()


@pytest.mark.parametrize("content", [b"{}", b"{", b"\x0a\xff", b"\xff\xfe\x00", b'{"model": {}}'])
def test_what_is_not_a_vocabulary_is_refused(page, tmp_path, content):
    path = tmp_path / "<img src=x onerror=alert(9)>.json"
    path.write_bytes(content)
    choose(page, path)
    page.wait_for_selector("#other .doubt")
    assert f"{path.name} cannot be read as a vocabulary" in page.text("#other")
    assert len(page.query_selector_all("#cuts .cut-panel")) == 3
    page.check_quiet()
