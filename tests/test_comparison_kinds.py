"""Compare per kind of text: tables, parity, Gini, CSV and LaTeX."""

import csv
import html
import io
import subprocess
import sys
from dataclasses import replace

import pytest

import volt
from volt.comparison import COLUMNS, as_csv, as_latex, as_text, tables
from volt.foreign.documents import parse_groups
from volt.report.page import make_comparison_page

EN = ["the house is small", "a small house", "the cat and the dog", "dogs and cats"] * 6
DE = ["das haus ist klein", "ein kleines haus", "die katze und der hund", "hunde und katzen"] * 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds")
    (path / "en.txt").write_text("\n".join(f"{line} {i}" for i, line in enumerate(EN)))
    (path / "de.txt").write_text("\n".join(f"{line} {i}" for i, line in enumerate(DE)))
    (path / "x.py").write_text("def f(x):\n    return x\n")
    for name, size in (("a_1", 300), ("b%2", 310)):
        volt.learn([EN, DE], size=size).save(path / name)
    return path


def compared(folder, *named):
    on = parse_groups([",".join(f"{name}={folder / file}" for name, file in named)])
    return volt.compare([folder / "a_1", folder / "b%2"], on)


def test_kinds_of_text_that_say_the_same(folder):
    found = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    for row in found.rows:
        english, german = row.kinds
        assert (english.name, german.name) == ("en", "de")
        assert row.tokens == english.tokens + german.tokens
        tok = volt.load(folder / row.name)
        lines = (folder / "de.txt").read_text().split("\n")
        assert german.tokens == sum(map(len, tok.encode_batch(lines)))
        assert english.parity == 1 and german.parity == german.tokens / english.tokens
        assert row.parity == max(german.parity, 1 / german.parity)
        # Two values: half their difference over their sum.
        apart = abs(english.tokens - german.tokens)
        assert row.gini == pytest.approx(apart / 2 / row.tokens)
        assert german.bits_per_byte > 0 and english.bytes_per_token > 1


def test_kinds_with_other_lines_have_no_parity(folder):
    found = compared(folder, ("en", "en.txt"), ("code", "x.py"))
    row = found.rows[0]
    assert row.parity is None and row.gini is None
    assert [one.parity for one in row.kinds] == [None, None]
    table = as_text(found)
    assert not any("parity" in line for line in table)
    assert sum(line.startswith("code: ") for line in table) == 2
    assert "Gini" not in str(tables(found))
    assert found.messages == [
        "no parity and Gini: no two kinds of text have as many lines: en 24 lines, code 2 lines"
    ]


def test_parity_is_over_the_kinds_with_as_many_lines(folder):
    both = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    assert both.messages == []
    other = compared(folder, ("de", "de.txt"), ("en", "en.txt"))
    for row, turned in zip(both.rows, other.rows, strict=True):  # whichever comes first
        assert row.parity == turned.parity >= 1
    found = compared(folder, ("code", "x.py"), ("en", "en.txt"), ("de", "de.txt"))
    for row, alone in zip(found.rows, both.rows, strict=True):
        assert [one.parity for one in row.kinds] == [None, *(one.parity for one in alone.kinds)]
        assert (row.parity, row.gini) == (alone.parity, alone.gini)
        assert row.parity is not None and row.gini is not None
    note = "parity and Gini are over en, de, of 24 lines each; others have code 2 lines"
    assert found.messages == found.summary()["messages"] == [note]
    assert found.summary()["bits_note"] == found.bits_note != ""
    on = f"code={folder / 'x.py'},en={folder / 'en.txt'},de={folder / 'de.txt'}"
    command = [sys.executable, "-m", "volt", "compare", str(folder / "a_1"), "--on", on]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"note: {note}" in " ".join(done.stderr.split()) and "parity" in done.stdout


def test_tables_fit_a_terminal(folder):
    found = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    shown, narrow = as_text(found), as_text(found, 50)
    assert max(map(len, shown)) <= 80
    heads = [line for line in shown if line.startswith("vocabulary")]
    assert len(heads) == 2 and "all kinds together:" in shown and "each kind:" in shown
    # What does not fit goes on below, with the names again.
    assert max(map(len, narrow)) <= 50
    further = [line for line in narrow if line.startswith("vocabulary")]
    assert len(further) > 2
    titles = [[title for line in some for title in line.split() if title != "vocabulary"]
              for some in (heads, further)]  # fmt: skip
    assert titles[0] == titles[1]
    assert {"size", "tokens", "bytes/tok", "bits/byte", "parity"} <= {*titles[0]}
    assert not {"Gini", "Rényi", "unused", "unknown"} & {*titles[0]}


def test_the_answer_comes_first(folder):
    found = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    few, many = sorted(found.rows, key=lambda row: row.tokens)
    said = (
        f"{few.name} makes the fewest tokens, {few.tokens:,} ({few.bytes_per_token:.3f} bytes per "
        f"token), with {few.size} rows; {many.name} makes "
        f"{many.tokens / few.tokens - 1:.1%} more with {many.size}"
    )
    assert found.headline == found.summary()["headline"] == said
    assert " ".join(" ".join(as_text(found)).split()).startswith(said)
    assert repr(found) == f"<Comparison: {said}>"
    assert html.escape(said) in found._repr_html_()
    assert said in make_comparison_page(found).decode()
    alone = replace(found, rows=[few])
    assert alone.headline == (
        f"{few.name} makes {few.tokens:,} tokens ({few.bytes_per_token:.3f} bytes per token)"
    )
    same = replace(found, rows=[few, replace(few, name="c", size=7)])
    assert same.headline.endswith("c makes as many with 7")
    several = replace(found, rows=[few, many, many, replace(many, tokens=2 * few.tokens), many])
    assert several.headline.endswith(" to 100.0% more")
    # Text that is lost makes few tokens, and another kind of text may say otherwise.
    lost = replace(few, unknown=0.25)
    assert "25.000% of its tokens are unknown, their text is lost" in replace(
        found, rows=[lost]).headline  # fmt: skip
    other = replace(many, kinds=[replace(many.kinds[0], tokens=1), many.kinds[1]])
    said = replace(found, rows=[few, other]).headline
    assert said.endswith(f"; the fewest on en: {many.name}, de: {few.name}")


def test_what_is_lost_or_spelled_in_bytes_is_in_the_table_where_there_is_any(folder):
    found = compared(folder, ("en", "en.txt"))
    none = [replace(row, unknown=0.0, in_bytes=0.0, partial=0.0) for row in found.rows]
    assert as_text(replace(found, rows=none))[-3].endswith("bits/byte")
    some = [replace(none[0], unknown=0.5, in_bytes=0.1), none[1]]
    assert as_text(replace(found, rows=some))[-3].endswith("bits/byte  unknown  in bytes")


def test_a_row_per_tokenizer_and_kind_in_csv(folder):
    found = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    rows = list(csv.DictReader(io.StringIO(as_csv(found).decode())))
    assert [(row["vocabulary"], row["text"]) for row in rows] == [
        ("a_1", ""), ("a_1", "en"), ("a_1", "de"), ("b%2", ""), ("b%2", "en"), ("b%2", "de"),
    ]  # fmt: skip
    assert int(rows[2]["tokens"]) == found.rows[0].kinds[1].tokens
    assert float(rows[0]["gini"]) == found.rows[0].gini
    assert rows[1]["size"] == "" and rows[1]["parity"] == "1.0"


def test_a_tabular_per_table_in_latex(folder):
    found = compared(folder, ("en", "en.txt"), ("de", "de.txt"))
    text = as_latex(found).decode()
    assert text.count(r"\begin{tabular}{l") == text.count(r"\end{tabular}") == 2
    assert r"en: a\_1 & " in text and r"b\%2 & " in text
    for line in text.splitlines():
        if "&" in line:
            assert line.endswith(r"\\")
    head, body = text.split(r"\midrule")[:2]
    columns = head.splitlines()[0].count("r") - "tabular".count("r")
    assert body.splitlines()[1].count("&") == columns


def test_kinds_of_text_have_models_of_their_own_and_a_note_says_so(tmp_path):
    text = "".join(f"the cat {number} sat\n" for number in range(200))
    found = {}
    for name in ("a", "b"):
        (tmp_path / name).write_text(text if name == "a" else text[::-1], encoding="utf-8")
        found[name] = str(tmp_path / name)
    volt.learn(found["a"], size=300).save(tmp_path / "out")
    apart = volt.compare([tmp_path / "out"], found)
    assert "under a model of that kind alone" in apart.bits_note
    whole = volt.compare([tmp_path / "out"], list(found.values())).bits_note
    assert whole and "of that kind alone" not in whole


def test_bits_per_byte_come_with_a_note_on_the_text_that_their_model_learned_from(folder):
    """32,000 tokens looked 7% better than the answer of `volt learn` on a small test set."""
    found = compared(folder, ("en", "en.txt"))
    assert f"nine tenths of these {found.lines} lines" in found.bits_note
    assert "favours large vocabularies" in found.bits_note and "volt learn" in found.bits_note
    shown = str(found)
    assert shown.splitlines()[: len(as_text(found))] == as_text(found)
    assert f"note: {found.bits_note}" in shown.splitlines()
    assert html.escape(found.bits_note) in found._repr_html_()


def test_what_depends_on_the_text_says_so(folder):
    """`volt info` counts residues on the text that was learned from, `compare` on its own."""
    heads = tables(compared(folder, ("en", "en.txt")))[0][0]
    assert "unused here" in heads and "residues here" in heads


def test_the_page_says_what_every_figure_means(tmp_path):
    (tmp_path / "text").write_text("the cat sat\n" * 50, encoding="utf-8")
    volt.learn(tmp_path / "text", size=270).save(tmp_path / "out")
    page = make_comparison_page(volt.compare([tmp_path / "out"], tmp_path / "text")).decode()
    for column in COLUMNS:
        assert column.meaning.endswith(".")
        assert f'"meaning":"{column.meaning}"' in page.replace('": "', '":"')
