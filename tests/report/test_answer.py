"""The first lines that a person reads, made from plain data as in choices.json."""

import json

import pytest

from volt.report.answer import CHEAPEST, answer, criterion_rows, doubts, notes, quality_loss
from volt.report.page import answer_data

QUALITY = {
    "sizes": [400, 1600, 6400, 25600, 102400],
    "scores": [2.2, 2.0113, 2.0, 2.0128, None],
    "splits": [[2.2, 2.0113, 2.0, 2.0128, None]] * 2,
    "best": 6400,
    "range": [1880, 18990],
    "open_upward": False,
    "tolerance": 0.005,
    "order": 3,
    "languages": {},
}
BASE = {"name": "base", "body": 44_000_000, "width": 512}


def criterion(name, size, doubts=(), splits=(), **more):
    return {"criterion": name, "size": size, "value": 1.0, "meaning": f"what {name} means",
            "doubts": list(doubts), "splits": list(splits), **more}  # fmt: skip


def choices(**changes):
    """A choice by cost; what is given replaces its parts."""
    found = {
        "criterion": "auto",
        "reason": "cost",
        "size": 11776,
        "range": [1880, 18990],
        "splits": [11648, 11840, 11776, 11712, 11776],
        "mu": 9.0,
        "price": 8.573,
        "quality": QUALITY,
        "cost": {"model": BASE, "lowest": 11776},
        "choices": [
            criterion("auto", 11776), criterion("heldout", 6400), criterion("muv", 14329),
            criterion("mdl", 683, splits=[667, 702, 683], measures="Bits for both."),
            criterion("frequency", None, ["no size meets it"]),
        ],
        "steps": [],
    }  # fmt: skip
    return found | changes


def rows(**changes):
    return dict(answer(choices(**changes)).rows)


def headline(**changes):
    return answer(choices(**changes)).headline


def test_the_lines_of_a_choice_by_cost():
    assert answer(choices()).lines == [
        "11,776 tokens: the cheapest size that costs no measurable quality",
        "  quality   within 0.5% of the best from 1,880 to 18,990 tokens (held-out bits per byte, "
        "best at 6,400)",
        "  cost      of training, lowest at 11,776, for base (44M parameters outside the "
        "embeddings, width 512); yours? `for_model`",
        "  repeated  five parts of the text chose 11,648 to 11,840",
        "  published the method of the VOLT paper chooses 14,329 (`profile=paper`)",
    ]


def test_a_larger_tolerance_allows_a_loss_that_can_be_measured():
    five = QUALITY | {"tolerance": 0.05}
    assert headline(quality=five) == (
        "11,776 tokens: the cheapest size whose quality is at most 5% below the best"
    )
    assert headline(quality=five, reason="merges").endswith("quality at most 5% below the best")
    assert CHEAPEST in headline(quality=QUALITY | {"tolerance": 0.001})


def test_a_size_that_was_rounded_says_so():
    assert rows(cost={"model": BASE, "lowest": 11761})["cost"].startswith(
        "of training, lowest at 11,761, rounded to 11,776, for base (44M"
    )


def test_a_model_that_was_named_is_not_asked_for():
    own = {"name": "6.6B:4096", "body": 6_600_000_000, "width": 4096}
    said = rows(cost={"model": own, "lowest": 11776})["cost"]
    assert said == (
        "of training, lowest at 11,776, for a model of 6.6B parameters outside the embeddings, "
        "width 4,096"
    )
    last = rows(cost={"model": BASE, "lowest": 11776, "last": 11776})["cost"]
    assert last.startswith("of training, still falling at 11,776, the last size, for")
    inside = rows(cost={"model": BASE, "lowest": 11776, "last": 11777})["cost"]
    assert inside.startswith("of training, lowest at 11,776, for")
    named = rows(cost={"model": own | {"name": "7b"}, "lowest": 11776})["cost"]
    assert "for 7b (6.6B parameters outside the embeddings, width 4,096)" in named


@pytest.mark.parametrize(
    ("lowest", "size", "end", "where"),
    [(42000, 18944, "upper", "above"), (900, 1880, "lower", "below")],
)
def test_a_quality_bound_that_decides_is_named(lowest, size, end, where):
    cost = {"model": BASE, "lowest": lowest}
    found = rows(reason="quality", size=size, cost=cost, splits=[size])
    said = f"{size:,} tokens: {CHEAPEST}, the {end} end of the range: "
    assert headline(reason="quality", size=size, cost=cost).startswith(said)
    assert f"of training, lowest at {lowest:,}, {where} that range, for base" in found["cost"]
    # More text helps only where the upper end decides.
    assert ("more text raises both" in found.get("text", "")) == (end == "upper")


def test_the_bound_and_what_more_text_would_change():
    cost = {"model": BASE, "lowest": 42000}
    assert rows(reason="quality", size=18944, cost=cost)["text"] == (
        "little for this model, so the quality bound decides (18,990, rounded to 18,944), not the "
        "cost; more text raises both: add text if you have more"
    )
    assert "decides (18,990), not" in rows(reason="quality", size=18990, cost=cost)["text"]


def test_the_last_merge_decides():
    last = {"model": BASE, "lowest": 18990}
    opened = QUALITY | {"open_upward": True}
    changes = {"reason": "merges", "size": 18944, "cost": last, "quality": opened}
    assert "the largest size that there is, at no measurable loss" in headline(**changes)
    assert "of training, lowest at 18,990, rounded to 18,944, for" in rows(**changes)["cost"]
    assert "`candidates` may raise the answer" in rows(**changes)["merges"]
    assert "from 1,880 tokens upward, measured up to 18,990 (held-out" in rows(**changes)["quality"]


def test_parts_of_the_text_have_fewer_merges_than_the_whole():
    beyond = {"model": BASE, "lowest": 21000}
    opened = QUALITY | {"open_upward": True}
    changes = {"reason": "merges", "size": 18944, "cost": beyond, "quality": opened}
    assert "the largest size that could be measured" in headline(**changes)
    said = "of training, lowest at 21,000, above that range, for base ("
    assert rows(**changes)["cost"].startswith(said)
    assert "parts of the text give no more" in rows(**changes)["merges"]


def test_a_single_size_leaves_nothing_to_say_about_quality_and_cost():
    found = answer(choices(reason="only", size=265, splits=[264, 265]))
    assert found.headline == "265 tokens: the only size, for the text gives nothing to merge"
    assert [name for name, _ in found.rows] == ["text", "published"]


def test_a_range_of_one_size_and_a_size_that_is_the_best():
    narrow = QUALITY | {"range": [6400, 6400]}
    assert rows(quality=narrow)["quality"].startswith(
        "within 0.5% of the best at 6,400 tokens only"
    )
    best = rows(criterion="heldout", reason="heldout", size=6400)["quality"]
    assert best.startswith("the best, inside the range from 1,880")


def test_a_given_size_says_where_it_lies_and_what_auto_would_choose():
    given = {"criterion": "size", "reason": "size", "splits": []}
    assert headline(**given, size=16000) == "16,000 tokens: the size you gave"
    once = QUALITY | {"splits": QUALITY["splits"][:1]}
    inside, outside = (rows(**given, size=size, quality=once) for size in (12800, 25600))
    assert inside["quality"] == (
        "0.32% above the best, inside the range from 1,880 to 18,990 tokens (within 0.5%; held-out "
        "bits per byte on one part of the text, best at 6,400)"
    )
    assert outside["quality"].startswith("0.64% above the best, outside the range from 1,880")
    said = (
        "would choose about 11,776: with no size given, several parts of the text are held out, "
        "which moves range and answer a little"
    )
    assert inside["auto"] == outside["auto"] == said
    many = rows(**given, size=12800)
    assert many["auto"] == "would choose 11,776: the cheapest size that costs no measurable quality"
    assert "repeated" not in inside


def test_a_criterion_that_decided_is_named_with_its_doubts():
    doubted = [criterion("auto", 11776), criterion("muv", 4568, ["the first step decided"])]
    changes = {"criterion": "muv", "reason": "muv", "size": 4568, "choices": doubted}
    said = "4,568 tokens: chosen by muv, what muv means; the first step decided"
    assert headline(**changes) == said
    found = rows(**changes)
    assert "published" not in found
    assert found["auto"].startswith("would choose 11,776")
    said = "the method of the VOLT paper chooses 4,568 (`profile=paper`): the first step decided"
    assert rows(choices=doubted)["published"] == said
    # What is not the paper's setting for a pair is not called that.
    one = [criterion("auto", 11776), criterion("muv", 4568)]
    for sizes, how in (("pair", " chooses"),
                       ("languages", ", with its sizes for many languages, chooses"),
                       ("given", ", at your `sizes`, chooses")):  # fmt: skip
        said = rows(choices=one, paper_sizes=sizes)["published"]
        assert said.startswith(f"the method of the VOLT paper{how}")


def test_little_text_is_said_in_the_first_line():
    said = "9,999 characters are too little text to trust this: give some hundred lines"
    assert headline(characters=9999).endswith(f"; {said}")
    assert "too little text" not in headline(characters=10_000)
    assert "too little text" not in headline(characters=9999, criterion="size", reason="size")


@pytest.mark.parametrize(
    ("splits", "said"),
    [
        ([], None),
        ([11776], None),
        ([11776, 11776], "two parts of the text chose 11,776"),
        ([11776, None, 12032], "two of three parts of the text chose 11,776 to 12,032"),
        ([None, None], "none of two parts of the text chose a size"),
        ([11776] * 24, "all 24 parts of the text chose 11,776"),
        ([11776] * 5, "all five parts of the text chose 11,776"),
        ([11648, 11712],
         "two parts of the text chose 11,648 to 11,712; the answer from the whole text lies 0.55% "
         "above: close"),
        ([12032, 11840],
         "two parts of the text chose 11,840 to 12,032; the answer from the whole text lies 0.54% "
         "below: close"),
        ([5000, 6000],
         "two parts of the text chose 5,000 to 6,000; the answer from the whole text lies 96% "
         "above: more text would bring them together"),
    ],
)  # fmt: skip
def test_what_the_parts_of_the_text_chose(splits, said):
    assert rows(splits=splits).get("repeated") == said


def test_without_quality_the_cost_alone_is_said():
    found = rows(quality=None, range=None)
    assert "quality" not in found
    assert headline(quality=None).endswith("no quality was measured")


def test_many_languages_are_said():
    many = QUALITY | {"languages": {"de": {}, "en": {}, "tr": {}}}
    assert (
        "(held-out bits per byte, mean of three languages, best at" in rows(quality=many)["quality"]
    )


def test_data_of_an_earlier_version():
    old = {"criterion": "muv", "size": 8000, "steps": [],
           "choices": [{"criterion": "muv", "size": 8000, "value": 1.0, "meaning": "most saved",
                        "doubts": []}]}  # fmt: skip
    assert answer(old).lines == ["8,000 tokens: chosen by muv, most saved"]
    fixed = old | {"criterion": "size"}
    assert answer(fixed).lines == [
        "8,000 tokens: the size you gave",
        "  published the method of the VOLT paper chooses 8,000 (`profile=paper`)",
    ]


def test_criteria_in_words():
    found = {row.name: row for row in criterion_rows(choices())}
    assert found["mdl"].parts == "667 to 702"
    assert found["mdl"].sentence == "Bits for both."
    assert (found["frequency"].size, found["frequency"].parts) == ("-", "")
    assert found["frequency"].sentence == "what frequency means (no size meets it)"


def test_quality_between_sizes_is_linear_in_log_size():
    assert quality_loss(QUALITY, 6400) == 0
    assert quality_loss(QUALITY, 3200) == pytest.approx(0.00565 / 2)
    assert quality_loss(QUALITY, 25600) == pytest.approx(0.0064)
    # Beyond the last score nothing is known.
    assert quality_loss(QUALITY, 25601) is None
    given = {"criterion": "size", "reason": "size"}
    said = rows(**given, size=30000)["quality"]
    assert said.startswith("not measured at this size, outside the range from 1,880")


def test_the_page_has_the_same_lines_with_flags():
    found = answer(choices(cost={"model": BASE, "lowest": 11761}))
    shown = json.loads(json.dumps(answer_data(choices(cost={"model": BASE, "lowest": 11761}))))
    assert (shown["size"], shown["why"]) == (found.size, found.why)
    assert [name for name, _ in shown["rows"]] == [name for name, _ in found.rows]
    text = " ".join(sentence for _, sentence in shown["rows"])
    assert "--for-model" in text
    assert "--profile paper" in text
    assert "`" not in text


# ------------------------------------------------------------------------------------------ samples

KEPT = {"size": 10**6, "read_bytes": 10**9, "kept_bytes": 10**6}


def half(apart, differ=0.2):
    return {"size": 7000, "apart": apart, "tokens_differ": differ}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"half": half(0.02)}, "large enough: half of it chose 7,000 (2% apart)"),
        ({"half": half(0.4), "sample": KEPT},
         "too small: half of it chose 7,000 (40% apart); ask for a larger `sample`"),
        ({"half": half(0.4), "sample": KEPT | {"size": None}},
         "too small: half of it chose 7,000 (40% apart); add text if you have more"),
        ({"half": half(None), "sample": KEPT, "reason": "size"},
         "too small: 20% of the tokens are not those of half of it; ask for a larger `sample`"),
        ({"half": half(None, 0.05), "reason": "size"},
         "large enough: 5% of the tokens are not those of half of it"),
        ({}, None),
    ],
)  # fmt: skip
def test_a_sample_gets_a_verdict_and_a_small_one_is_a_doubt(changes, said):
    assert rows(**changes).get("sample") == said
    small = said is not None and said.startswith("too small")
    assert doubts(choices(**changes)) == ([f"sample {said}"] if small else [])


def test_more_text_is_a_larger_sample_where_there_is_one():
    cost = {"model": BASE, "lowest": 42000}
    said = rows(reason="quality", size=18944, cost=cost, sample=KEPT)["text"]
    assert said.endswith("more text raises both: ask for a larger `sample`")


def test_very_many_words_are_not_repeated_on_parts_of_the_text():
    once = QUALITY | {"splits": QUALITY["splits"][:1]}
    found = rows(quality=once, splits=[], types=300_001)
    assert found["repeated"] == "no: more than 300,000 different words"
    assert "on one part of the text" in found["quality"]
    assert "repeated" not in rows(quality=once, splits=[], types=300_000)


def test_an_answer_below_the_best_size_says_why():
    found = rows(size=6016, cost={"model": BASE, "lowest": 6010})
    assert found["quality"].endswith("best at 6,400; smaller sizes are cheaper)")


def test_notes_are_what_the_first_line_does_not_say():
    doubted = [criterion("muv", 4568, ["the first step decided"])]
    told = ["4,568: the first step decided", "a is missing", "warning: b is not parallel"]
    found = choices(criterion="muv", reason="muv", size=4568, choices=doubted, messages=told)
    assert notes(found) == ["note: a is missing", "warning: b is not parallel"]
    assert answer_data(found)["notes"] == notes(found)
