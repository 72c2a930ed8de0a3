"""report.html in a real browser: what it shows, what it never does, and its encoder."""

import json
import random
import re
import unicodedata
from dataclasses import replace

import pytest
from pages import corpus, figures, learn, number, rows

import volt
from volt.cli.info import diagnostics
from volt.counting.marks import BYTE_TOKENS, byte_of
from volt.counting.normalizers import Cut, Lowercase, Normalizer
from volt.counting.words import PRETOKENIZERS
from volt.proposing.tokens import SPELLED
from volt.report.answer import answer
from volt.report.answer import notes as answer_notes
from volt.report.data import load_report
from volt.report.page import MOST_BYTES, Material, load_material, make_comparison_page, make_page
from volt.settings import in_flags
from volt.tokenizing.build import build_vocabulary

HOSTILE = "</script><img src=x onerror=alert(1)>"
HOSTILE_WORDS = [HOSTILE, "<!--", "{{a}}", "&lt;b&gt;", "\u2028\u2029", "javascript:alert(1)"]
PIECES = [
    *"abcdefghijklmnopqrstuvwxyz", *"ABC", *"0123456789", *" " * 8, "  ", "\t", "\n", "\r",
    "\u00a0", "▁", "▁▁", "</w>", "@@", "##", "<unk>", "<s>", "<0x41>", "Ġ", "'s", "'ll", "'",
    "don't", ".", ",", "!?", "ä", "ß", "é", "e\u0301", "ﬁ", "½", "²", "①",
    "日本語", "語彙", "한국", "пример", "مثال", "उदाहरण",
    "👩‍🚀", "🏳️‍🌈", "\U0001f9ff", "\ue000", "\u200b", "\ufeff", "\u2028", "\u3000", "\x00",
    "\x1f", "\x85", "<2de>", HOSTILE,
]  # fmt: skip


def strings(count):
    generator = random.Random(7)
    found = ["", " ", "  ", "a", " a ", "▁", "▁a", "a▁", "<2de>", "<2de> a", " <2de>a<2de>"]
    found += corpus(1, 20)
    while len(found) < count:
        found.append("".join(generator.choices(PIECES, k=generator.randint(1, 14))))
    return found


@pytest.fixture(scope="module")
def ranked(tmp_path_factory):
    """Tokens chosen by their frequency, as the paper does: not those of BPE, and with scaffolds."""
    return learn(tmp_path_factory.mktemp("ranked"), criterion="muv")


@pytest.fixture(scope="module")
def ranked_page(ranked, open_page):
    return open_page(ranked[0] / "report.html", keep=True)


# ----------------------------------------------------------------------------------------- sections


def test_it_loads_without_a_word_on_the_console_or_the_network(page, learned):
    page.check_quiet()
    assert len((learned[0] / "report.html").read_bytes()) < MOST_BYTES


def test_the_policy_allows_neither_network_nor_eval(page):
    blocked = page.evaluate(
        """async () => {
          const tried = {};
          tried.fetch = await fetch("https://example.org/").then(() => true, () => false);
          // In a task of the page's own: what the driver runs at once is let through.
          tried.eval = await new Promise((done) => setTimeout(() => {
            try { done((0, eval)("1 + 1") === 2); } catch { done(false); }
          }));
          tried.image = await new Promise((done) => {
            const image = new Image();
            image.onload = () => done(true);
            image.onerror = () => done(false);
            image.src = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
          });
          return tried;
        }"""
    )
    assert blocked == {"fetch": False, "eval": False, "image": False}
    page.messages.clear()  # the browser said that it blocked them
    page.requests[1:] = []


def test_the_answer(page, learned):
    _, result = learned
    assert page.text("#answer h1") == f"{len(result.vocabulary):,} tokens"
    found = answer(result.summary())
    assert page.text("#answer-why").lower() == f"{found.why}.".lower()
    shown = [
        (row.query_selector("dt").inner_text(), row.query_selector("dd").inner_text())
        for row in page.query_selector_all("#answer-rows > div")
    ]
    assert shown == [(name, in_flags(sentence)) for name, sentence in found.rows]
    assert page.text("#doubts") == found.doubt == ""
    shown = figures(page, "#figures")
    tokens = sum(token.frequency for token in result.vocabulary.tokens)
    words = sum(len(line.split()) for seed in (1, 2) for line in corpus(seed))
    size = sum(len(line.encode()) + 1 for seed in (1, 2) for line in corpus(seed))  # a space before
    assert number(shown["tokens per word"]) == pytest.approx(tokens / words, abs=0.005)
    assert number(shown["bytes per token"]) == pytest.approx(size / tokens, abs=0.005)
    assert shown["unknown characters"] == "none"
    assert shown["the last token"].startswith(f"saves {result.choice.mu:,.4g} tokens of text")
    tops = [one.bounding_box()["y"] for one in page.query_selector_all("#figures > div")]
    assert tops.count(max(tops)) > 1  # none is alone in the last row
    commands = page.text("#uses")
    for form in ("hf", "sentencepiece -o vocab.spm", "fairseq"):
        assert f"--to {form}" in commands
    # They run beside the folder, which stays as volt wrote it.
    assert " -m . " not in commands and f" -m {page.url.split('/')[-2]} " in commands
    # No command where it can't work, but why and what to do.
    refused = page.text("#uses .use.refused")
    assert refused.startswith("subword-nmt\nNot for this vocabulary: ")
    assert "--to subword-nmt" not in commands
    notes = [one.inner_text() for one in page.query_selector_all("#answer-notes li")]
    assert notes == [in_flags(note) for note in answer_notes(result.summary())]
    assert page.text_content("#signature") == result.signature


def test_doubts_stand_in_a_box(tmp_path, open_page):
    result = volt.learn([corpus(1)], merges=900, sizes="400:500:100", criterion="muv")
    (doubt,) = result.choice.verdict.doubts
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    assert page.text("#doubts").endswith(f"{doubt[0].upper()}{doubt[1:]}.")
    assert doubt not in page.text("#answer-why")
    page.check_quiet()


def test_a_folder_of_the_format_before_has_a_page(ranked, open_page, tmp_path):
    """Its report.json has no tokens at every size, its choices.json neither quality nor cost."""
    for name in ("volt.json", "curve.csv"):
        (tmp_path / name).write_bytes((ranked[0] / name).read_bytes())
    report = json.loads((ranked[0] / "report.json").read_bytes()) | {"format": 2}
    del report["tokens"]
    (tmp_path / "report.json").write_text(json.dumps(report))
    choices = json.loads((ranked[0] / "choices.json").read_bytes())
    for name in ("reason", "range", "splits", "mu", "price", "quality", "cost"):
        del choices[name]
    for one in choices["choices"]:
        del one["splits"], one["measures"]
    (tmp_path / "choices.json").write_text(json.dumps(choices))
    path = tmp_path / "report.html"
    path.write_bytes(make_page(load_material(tmp_path)))
    page = open_page(path)
    assert page.text("#answer-why").startswith("Chosen by muv, ")
    assert "Quality was not measured" in page.text("#sizes-lead")
    assert not page.is_visible("#models")
    assert not page.is_visible("#chart-quality")
    assert page.query_selector("#chart-cost svg")
    assert page.query_selector("#chart-muv svg")
    page.check_quiet()


def test_the_criteria(page, learned):
    _, result = learned
    table = rows(page, "#criteria")
    names = [head.inner_text() for head in page.query_selector_all("#criteria tbody th")]
    assert names == [choice.criterion for choice in result.choices]
    for row, one in zip(table, result.choices, strict=True):
        assert row[0] == ("-" if one.size is None else f"{one.size:,}")
        sizes = [size for size in one.splits if size is not None]
        assert not sizes or row[1].startswith(f"{min(sizes):,}")
        assert one.measures in row[2]
        assert row[2].strip() == " ".join([one.measures, *(f"({doubt})" for doubt in one.doubts)])


# ---------------------------------------------------------------------------------- the paper's way


def test_the_paper_has_its_curve(page, learned):
    _, result = learned
    data = page.evaluate("() => voltReport.data.curve")
    curve = result.curve
    for size, entropy, tokens in zip(data["size"], data["entropy"], data["tokens"], strict=True):
        row = curve.at_size(size)
        assert entropy == pytest.approx(curve.entropy_types[row], rel=1e-5)
        assert tokens == curve.tokens[row]
    # What is drawn: a star at the choice, a rule for every criterion, bars for M.
    paths = page.query_selector_all("#chart-entropy svg path")
    assert len(paths) > 10
    legend = page.text("#paper-legend")
    for choice in result.choices:
        if choice.size is not None:
            assert f"{choice.criterion} {choice.size:,}" in legend
    bars = page.query_selector_all("#chart-muv svg [aria-roledescription='bar']")
    assert len(bars) == len(result.steps) - 1


def test_the_transport_map_is_the_plan(page, learned):
    _, result = learned
    step = max(result.steps[1:], key=lambda step: step.muv)
    shown = page.evaluate("() => voltReport.data.transport")
    tokens = [result.candidates.tokens[t] for t in step.tokens]
    characters = step.solution.problem.character_names
    plan = step.solution.plan.toarray()
    for row, column, mass in shown["plan"]:
        token = tokens.index(shown["tokens"][row]["text"])
        character = characters.index(shown["characters"][column]["text"])
        assert mass == pytest.approx(plan[token, character], rel=1e-5)
    cells = page.query_selector_all("#chart-transport svg .mark-rect.role-mark path")
    assert len(cells) == len(shown["plan"])
    assert f"S = {step.s:,}, a vocabulary of {step.size:,} tokens" in page.text("#transport-lead")
    assert "No token was dropped" in page.text("#dropped")


def test_the_vocabulary_table_searches_and_sorts(ranked_page, ranked):
    page, vocabulary = ranked_page, ranked[1].vocabulary
    assert vocabulary.scaffolds
    assert f"{vocabulary.scaffolds:,} scaffold" in page.text("#vocabulary-lead")
    frequencies = [number(row[4]) for row in rows(page, "#tokens")]
    assert frequencies == sorted((t.frequency for t in vocabulary.tokens), reverse=True)[:25]
    page.click("#tokens th button >> text=id")
    first = rows(page, "#tokens")
    assert [row[1] for row in first][:4] == ["<pad>", "<s>", "</s>", "<unk>"]
    merged = next(t for t in vocabulary.tokens if t.kind == "merged" and t.text.startswith("▁"))
    page.fill("#search", merged.text.replace("▁", " "))
    found = rows(page, "#tokens")
    row = next(row for row in found if int(row[0]) == vocabulary.ids[merged.text])
    parents = " + ".join(vocabulary.tokens[p].text for p in merged.parents).replace("▁", "␣")
    assert row[1] == merged.text.replace("▁", "␣")
    assert (row[2], number(row[4]), row[5]) == ("merged", merged.frequency, parents)
    page.fill("#search", "")
    page.select_option("#kind", "scaffold")
    assert number(page.text("#found")) == vocabulary.scaffolds
    page.select_option("#kind", "")
    page.click("#next")
    assert page.text("#place").startswith("page 2 of")
    for chart in ("lengths", "frequencies", "ranks"):
        assert page.query_selector(f"#chart-{chart} svg path")


def test_a_first_look_at_the_tokens(page, learned, open_page, tmp_path):
    vocabulary = learned[1].vocabulary

    def lists(page):
        return {
            box.get_attribute("aria-label"): [one.text_content() for one in
                                              box.query_selector_all(".token")]
            for box in page.query_selector_all("#look .chips")
        }  # fmt: skip

    shown = lists(page)
    texts = [one for one in vocabulary.tokens if one.kind in SPELLED]
    frequent = sorted(texts, key=lambda one: -one.frequency)
    assert shown["Commonest"][0] == frequent[0].text.replace("▁", "␣")
    longest = max(len(one.text) for one in texts)
    assert len(shown["Longest"][0]) == longest
    # What only the first file has is typical of it.
    first, second = (set(" ".join(corpus(seed)).split()) for seed in (1, 2))
    words = {text.strip("␣") for text in shown["train.xx"]}
    assert words & (first - second)
    assert not words & (second - first)
    volt.learn(["a\tb\n\nlow\n" * 30], pretokenizer="byte-level:qwen2").save(tmp_path / "out")
    shown = lists(open_page(tmp_path / "out" / "report.html"))
    assert any("⏎" in one for one in shown["Commonest with a line end"])


def test_a_phone_has_round_sizes_on_the_axis(learned, open_page):
    page = open_page(learned[0] / "report.html", viewport={"width": 390, "height": 844})
    axes = page.query_selector_all("#chart-cost svg .role-axis-label")
    labels = [label.text_content() for axis in axes for label in axis.query_selector_all("text")]
    sizes = [label for label in labels if "%" not in label]
    assert len(sizes) > 2
    assert all(re.fullmatch(r"[1-9]0*k?|1\.5k|150", size) for size in sizes), sizes


def test_criteria_that_are_information_say_so(page, ranked_page, learned):
    for shown in (page, ranked_page):
        assert "decided; the others are information." in shown.text("#criteria-lead")
    result = learned[1]
    quality = result.quality
    reached = max(size for size, score in zip(quality.sizes, quality.scores, strict=True)
                  if score == score)  # fmt: skip
    larger = any(one.size is not None and one.size > reached for one in result.choices)
    assert (f"give at most {reached:,} tokens" in page.text("#criteria-lead")) == larger


def test_a_vocabulary_of_bpe_is_said_to_be_one(page, learned):
    merged = len(learned[1].vocabulary.of_kind("merged"))
    assert page.text("#overlap-lead") == (
        f"The {merged:,} merged tokens are the first {merged:,} merges of plain BPE."
    )


def test_the_overlap_with_bpe(ranked_page, ranked):
    page, result = ranked_page, ranked[1]
    merged = {t.text for t in result.vocabulary.tokens if t.kind == "merged"}
    start = result.candidates.alphabet_size
    plain = set(result.candidates.tokens[start : start + len(merged)])
    assert f"{len(merged & plain):,} of {len(merged):,} merged tokens" in page.text("#overlap-lead")
    heads = [head.inner_text() for head in page.query_selector_all("#overlap h3")]
    assert heads == [f"Only here: {len(merged - plain):,}", f"Only in BPE: {len(plain - merged):,}"]


def test_the_languages(page, tmp_path, open_page):
    assert not page.is_visible("#languages")
    texts = {"xx": [corpus(1)], "yy": [corpus(2)], "<b>z</b>": [corpus(3)]}
    result = volt.learn(texts, sizes="400:650:50")
    result.save(tmp_path / "out")
    other = open_page(tmp_path / "out" / "report.html")
    names = [head.inner_text() for head in other.query_selector_all("#language-table tbody th")]
    assert names == list(texts)
    for row, one in zip(rows(other, "#language-table"), result.languages.rows, strict=True):
        assert number(row[0]) == one.lines
        assert number(row[1]) == one.best_size
        assert number(row[2]) == pytest.approx(100 * one.quality_loss, abs=0.051)
        assert number(row[4]) == pytest.approx(one.tokens_per_word, abs=0.0051)
    # Relative scores are not bits per byte.
    assert figures(other, "#marker-figures")["quality"].startswith("+")
    other.check_quiet()


def test_the_files(page, learned):
    _, result = learned
    tokenizer = volt.Tokenizer(result.vocabulary)
    table = rows(page, "#file-table")
    assert [row[0] for row in table] == ["train.xx", "train.yy"]
    totals = []
    for row, seed in zip(table, (1, 2), strict=True):
        lines = corpus(seed)
        tokens = sum(map(len, tokenizer.encode_batch(lines)))
        words = [word for line in lines for word in line.split()]
        single = sum(len(tokenizer.encode(word)) == 1 for word in words)
        totals.append(tokens)
        assert number(row[1]) == len(lines)
        assert number(row[2]) == pytest.approx(tokens / len(words), abs=0.005)
        assert number(row[3]) == pytest.approx(tokens / len(lines), abs=0.005)
        assert number(row[4]) == pytest.approx(100 * single / len(words), abs=0.05)
        assert number(row[6]) == pytest.approx(tokens / totals[0], abs=0.005)


# --------------------------------------------------------------------------------------- playground

SETTINGS = [
    {"pretokenizer": "metaspace"},
    {"pretokenizer": "metaspace", "merge_rule": "pairs", "encoding": "split", "unknown": "unk"},
    {"pretokenizer": "metaspace", "coverage": 0.97, "normalize": "nfkc",
     "symbols": ["<2de>", "<2", "日本"]},
    {"pretokenizer": "whitespace"},
    {"pretokenizer": "whitespace", "merge_rule": "concat", "encoding": "split",
     "symbols": ["<2de>"]},
    {"pretokenizer": "byte-level", "merge_rule": "concat", "encoding": "split"},
    *({"pretokenizer": name} for name in PRETOKENIZERS if name.startswith("byte-level")),
    {"pretokenizer": r"custom:\p{Lu}?\p{Ll}+|[一-龥]|\s+"},
]  # fmt: skip


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(map(str, one.values())))
def test_the_playground_encodes_as_the_library_does(settings, open_page, tmp_path):
    result = volt.learn([corpus(3)], sizes="400:550:50", merges=700, **settings)
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    texts = strings(300)
    found = page.evaluate(
        """(texts) => voltReport.encoders.map(({encoder}) =>
             texts.map((text) => encoder.encode(text).map(({id}) => encoder.pool[id].text)))""",
        texts,
    )
    kept = ("merge_rule", "unknown", "symbols")
    names = {name: value for name, value in settings.items() if name in kept}
    start = result.candidates.alphabet_size
    others = [
        build_vocabulary(result.candidates, range(start, start + size), **names)
        for size in load_report(tmp_path / "out" / "report.json")["bpe"]["sizes"]
    ]
    assert len(others) == 2
    for vocabulary, cut in zip([result.vocabulary, *others], found, strict=True):
        tokenizer = volt.Tokenizer(vocabulary)
        for text, tokens in zip(texts, cut, strict=True):
            assert tokens == [tokenizer.tokens[i] for i in tokenizer.encode(text)], text
    check_spans(page, volt.load(tmp_path / "out"), texts)
    page.check_quiet()


def check_spans(page, tokenizer, texts):
    """Ids, offsets and bytes of the first encoder are those of Python."""
    found = page.evaluate(
        """(texts) => { const {encoder} = voltReport.encoders[0]; return texts.map((text) =>
             encoder.encode(text).map(({id, start, end}) =>
               [id, start, end, encoder.bytesOf(encoder.pool[id])])); }""",
        texts,
    )
    normalize = tokenizer.vocabulary.rule.normalize
    plain = tokenizer.vocabulary.plain_text
    for text, cut in zip(texts, found, strict=True):
        if normalize != "none":
            text = unicodedata.normalize(normalize.upper(), text)
        ids, spans = tokenizer.encode_with_offsets(text)
        assert [one[0] for one in cut] == ids, text
        assert [(start, end) for _, start, end, _ in cut] == spans, text
        for token, _, _, data in cut:
            name = tokenizer.tokens[token]
            spelled = tokenizer.vocabulary.tokens[token].kind in SPELLED
            if spelled or token != tokenizer.vocabulary.unknown_id:
                expected = plain(name) if spelled else byte_or_name(name)
                assert bytes(data) == expected, (text, name)


def byte_or_name(name):
    return bytes([byte_of(name)]) if name in BYTE_TOKENS else name.encode()


LOOKED_UP = {
    "select": {"select": "transport", "size": 450},
    "select-bytes": {"select": "transport", "size": 450, "pretokenizer": "byte-level:o200k"},
    "longest": {"candidates": "wordpiece:300", "sizes": "400,450"},
    "longest-words": {"candidates": "wordpiece:300", "sizes": "400,450",
                      "pretokenizer": "whitespace"},
    "unigram": {"candidates": "unigram:300", "sizes": "400,450", "symbols": ["<2de>"]},
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKED_UP)
def test_the_playground_looks_tokens_up(name, open_page, tmp_path):
    volt.learn([corpus(3)], **LOOKED_UP[name]).save(tmp_path / "out")
    tokenizer = volt.load(tmp_path / "out")
    assert tokenizer.vocabulary.look_up is not None
    page = open_page(tmp_path / "out" / "report.html")
    assert len(page.query_selector_all("#cuts .cut-panel")) == 1
    check_spans(page, tokenizer, strings(200))
    page.check_quiet()


def test_typing_shows_the_tokens(page, learned):
    tokenizer = volt.Tokenizer(learned[1].vocabulary)
    page.fill("#text", "bada 日本語\nthe Zoë")
    panels = page.query_selector_all("#cuts .cut-panel")
    assert len(panels) == 3
    shown = [
        [span.text_content() for span in line.query_selector_all("span")]
        for line in panels[0].query_selector_all(".line")
    ]
    expected = [
        [tokenizer.tokens[i].replace("▁", "␣") for i in tokenizer.encode(line)]
        for line in ("bada 日本語", "the Zoë")
    ]
    assert shown == expected
    assert f"{sum(map(len, expected))} tokens" in panels[0].inner_text()
    page.fill("#text", "badathe" * 200)  # lines end between tokens only
    spans = "[...document.querySelectorAll('#cuts .line > span')]"
    pieces = page.evaluate(f"{spans}.map((one) => one.getClientRects().length)")
    assert len(pieces) > 100 and set(pieces) == {1}


# ---------------------------------------------------------------------------- hostile text, layouts


def test_hostile_text_is_shown_as_text(open_page, tmp_path):
    name = "<img src=x onerror=alert(2)>.en"
    (tmp_path / name).write_text(f"{' '.join(HOSTILE_WORDS)}\n{HOSTILE}\n" * 60, encoding="utf-8")
    result = volt.learn(
        [tmp_path / name], sizes="60:110:10", merges=300, pretokenizer="whitespace",
        special=["<unk>", HOSTILE], symbols=["<svg onload=alert(3)>"],
    )  # fmt: skip
    vocabulary = result.vocabulary
    assert f"{HOSTILE}</w>" in vocabulary.ids or f"{HOSTILE}" in vocabulary.ids
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    page.fill("#search", HOSTILE)
    assert any(HOSTILE in row[1].replace("␣", " ") for row in rows(page, "#tokens"))
    assert rows(page, "#file-table")[0][0] == name
    page.fill("#text", " ".join(HOSTILE_WORDS))
    spans = page.query_selector_all("#cuts .cut-panel:first-child .line span")
    cut = "".join(span.text_content() for span in spans)
    assert HOSTILE.replace(" ", "") in cut.replace("␣", "")
    page.hover("#chart-transport svg .mark-rect.role-mark path")
    assert page.query_selector_all("img, main svg image, iframe, object, embed") == []
    assert len(page.query_selector_all("script")) == 3
    page.check_quiet()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_phone_layout_fits(learned, open_page, scheme):
    page = open_page(
        learned[0] / "report.html", viewport={"width": 390, "height": 844}, color_scheme=scheme
    )
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    too_wide = page.evaluate(
        """() => [...document.querySelectorAll("main > section > *")]
             .filter((one) => one.getBoundingClientRect().right > 390).map((one) => one.id)"""
    )
    assert too_wide == []
    page.check_quiet()


def test_colours_can_be_read(learned, open_page):
    """Contrast of text against its background, by WCAG's formula, at least 4.5."""
    for scheme in ("light", "dark"):
        page = open_page(learned[0] / "report.html", color_scheme=scheme)
        ratios = page.evaluate(
            """() => {
              const light = (c) => { const v = c.match(/[0-9.]+/g).slice(0, 3).map((x) => x / 255)
                .map((x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
              const behind = (e) => { for (; e; e = e.parentElement) {
                const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; }
                return "rgb(255, 255, 255)"; };
              return ["h1", ".lead", "nav a", "dt", "dd", "dd small", "th", "td", ".doubted",
                "output", ".choices input:checked + span", ".choices span",
                ".doubt p", ".cut .t0", ".cut .t1", ".cut .t2", ".cut .t3", ".cut .t4",
                "figcaption", ".mark"]
                .map((s) => [s, document.querySelector(s)]).filter(([, e]) => e).map(([s, e]) => {
                  const a = light(getComputedStyle(e).color), b = light(behind(e));
                  return [s, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; });
            }"""
        )
        assert len(ratios) > 12
        assert [name for name, ratio in ratios if ratio < 4.5] == []


def test_a_folder_of_an_imported_vocabulary_has_a_page_too(learned, open_page, tmp_path):
    """Nothing but volt.json: what is not known is said, the rest is there."""
    tmp_path.joinpath("volt.json").write_bytes((learned[0] / "volt.json").read_bytes())
    path = tmp_path / "report.html"
    path.write_bytes(make_page(load_material(tmp_path)))
    page = open_page(path)
    assert "has no choices.json" in page.text("#answer-why")
    assert "no curve" in page.text("#sizes-lead")
    assert "no curve" in page.text("#paper-lead")
    assert len(page.query_selector_all("#cuts .cut-panel")) == 1
    assert rows(page, "#tokens")
    page.check_quiet()


def imported_page(vocabulary, folder, open_page):
    vocabulary.save(folder / "volt.json")
    path = folder / "report.html"
    path.write_bytes(make_page(load_material(folder)))
    return open_page(path)


def test_a_sentencepiece_model_has_a_playground(open_page, tmp_path):
    """Scores are added in float32 through the whole text, and unknown characters are fused."""
    import sentencepiece

    (tmp_path / "train").write_text("\n".join(corpus(1)) + "\n", encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "train"), model_prefix=str(tmp_path / "plain"), vocab_size=150,
        model_type="unigram", minloglevel=2, normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    )  # fmt: skip
    vocabulary, _ = volt.import_vocabulary(tmp_path / "plain.model")
    assert vocabulary.fuse_unknown and vocabulary.look_up.arithmetic == "float32"
    page = imported_page(vocabulary, tmp_path, open_page)
    check_spans(page, volt.load(tmp_path), strings(200))
    page.click("#tokens th button >> text=id")
    for row in rows(page, "#tokens"):
        assert row[1] == vocabulary.texts[int(row[0])].replace("▁", "␣")
    page.check_quiet()


def test_what_changes_text_first_has_no_playground(open_page, tmp_path, learned):
    normalizer = Normalizer((Lowercase(), Cut("metaspace")))
    vocabulary = replace(
        volt.load(learned[0]).vocabulary, normalizer=normalizer, self_test=[], word_ends="spaces"
    )
    page = imported_page(vocabulary, tmp_path, open_page)
    assert "changes text before it cuts it" in page.text("#playground-lead")
    assert not page.is_visible("#playground-body")
    page.check_quiet()


def test_a_playground_that_would_be_wrong_is_not_shown(open_page, tmp_path, learned):
    """The page encodes the self-test first."""
    vocabulary = volt.load(learned[0]).vocabulary
    text, ids = vocabulary.self_test[-1]
    path = tmp_path / "report.html"
    path.write_bytes(make_page(Material(replace(vocabulary, self_test=[(text, ids[:-1])]))))
    page = open_page(path)
    assert "reads the pattern of this vocabulary otherwise" in page.text("#playground-lead")
    page.check_quiet()


def test_a_vocabulary_too_large_is_shown_in_part(learned, open_page, tmp_path, monkeypatch):
    material = load_material(learned[0])
    full = len(make_page(material))
    monkeypatch.setattr("volt.report.page.MOST_BYTES", full // 2)
    monkeypatch.setattr("volt.report.page.EXCERPT", 10)
    path = tmp_path / "report.html"
    path.write_bytes(make_page(material))
    page = open_page(path)
    assert page.text("#answer h1") == f"{len(material.vocabulary):,} tokens"
    lead = page.text("#vocabulary-lead")
    assert "only the most frequent tokens are listed" in lead
    residues = diagnostics(material)["residues"]  # of all tokens, as terminal and `volt info` count
    assert residues
    assert f"{residues:,} tokens are residues" in lead
    assert "never appear" not in page.text("main")
    page.select_option("#kind", "merged")
    for row in rows(page, "#tokens"):
        token = material.vocabulary.tokens[int(row[0])]
        assert (row[1], number(row[4])) == (token.text.replace("▁", "␣"), token.frequency)
    assert "too large" in page.text("#playground-lead")
    page.check_quiet()


def test_the_comparison_page(learned, open_page, tmp_path):
    name = "<img src=x onerror=alert(4)>"
    (tmp_path / name).mkdir()
    (tmp_path / name / "volt.json").write_bytes((learned[0] / "volt.json").read_bytes())
    found = volt.compare([learned[0], tmp_path / name], [corpus(1)])
    path = tmp_path / "compare.html"
    path.write_bytes(make_comparison_page(found))
    page = open_page(path, viewport={"width": 390, "height": 844})
    heads = [head.inner_text() for head in page.query_selector_all("#rows thead th")]
    assert heads == ["out", name]
    sizes, tokens, per_word, *_ = rows(page, "#rows")
    assert [number(size) for size in sizes] == [one.size for one in found.rows]
    assert [number(count) for count in tokens] == [one.tokens for one in found.rows]
    shown = [float(figure) for figure in per_word]
    assert shown == pytest.approx([one.tokens_per_word for one in found.rows], abs=5e-4)
    assert page.text("#headline") == f"{found.headline}."
    assert "a small model learns from nine tenths of these 400 lines" in page.text("#notes")
    assert len(page.query_selector_all("figure svg")) == 4
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    page.check_quiet()


def test_the_page_is_made_from_the_folder_alone(learned):
    folder, _ = learned
    assert make_page(load_material(folder)) == (folder / "report.html").read_bytes()
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert str(folder.parent) not in json.dumps(report)
    assert report["format"] == 3


@pytest.mark.parametrize("source", ["substring:300", "wordpiece:300"])
def test_other_candidates_say_what_there_is(tmp_path, open_page, source):
    """No exact curve, nothing to compare with BPE: said in words, and nothing breaks."""
    result = volt.learn([corpus(3)], candidates=source, sizes="400,450,550")
    result.save(tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")
    page.check_quiet()
    assert "between them nothing is known" in page.text("#sizes-lead")
    assert "not those of BPE" in page.text("#overlap-lead")
    check_spans(page, volt.load(tmp_path / "out"), strings(50))
    assert f"H of {result.curve_name}" in page.text("#paper-legend")
