"""Arguments of the wrong type, in every public call: the error is volt's own, is a TypeError or a
ValueError, and names the parameter."""

import inspect
from contextlib import suppress

import pytest

import volt
from volt import VoltError
from volt.base.arguments import fits, names_arguments
from volt.base.errors import ArgumentTypeError

TEXT = [["low lower lowest"] * 4]
TOKENIZER = volt.learn(TEXT, size=270).tokenizer
COUNTS = volt.count(TEXT)


class Odd:
    """Nothing that any function takes."""


WRONG = [3, 2.5, b"low", ["low", 3], {"a": 1}, Odd(), True, object, "no", -1, float("nan"), [None],
         "\ud800", 10**30]  # fmt: skip

METHODS = {
    "__call__": {"text": "low", "allowed_special": (), "padding": False, "return_tensors": None},
    "count": {"text": "low", "allowed_special": ()},
    "decode": {"ids": [1], "errors": "replace"},
    "decode_batch": {"batch": [[1]], "errors": "replace"},
    "decode_bytes": {"ids": [1]},
    "decode_with_losses": {"ids": [1]},
    "encode": {"text": "low", "allowed_special": (), "dropout": 0.0, "seed": 0},
    "encode_array": {"text": "low", "allowed_special": ()},
    "encode_batch": {"texts": ["low"], "allowed_special": (), "dropout": 0.0, "seed": 0},
    "encode_file": {"path": __file__, "unit": None, "progress": None},
    "encode_to_arrays": {"inputs": TEXT, "glob": "*", "unit": None},
    "encode_to_text": {"inputs": TEXT, "form": "ids", "glob": "*", "unit": None},
    "written": {"form": "ids"},
    "encode_with_offsets": {"text": "low", "allowed_special": ()},
    "encode_with_words": {"text": "low", "allowed_special": ()},
    "encode_words": {"counts": COUNTS},
    "id_to_token": {"token_id": 1},
    "show": {"text": "low"},
    "special_names": {"allowed_special": ()},
    "token_to_id": {"token": "low"},
    "truncate": {"text": "low", "max_tokens": 3, "allowed_special": ()},
    "usage": {"counts": COUNTS},
}
FUNCTIONS = {
    "Tokenizer": {"vocabulary": TOKENIZER.vocabulary, "threads": None},
    "candidates": {"inputs": TEXT, "threads": None},
    "compare": {"vocabularies": [TOKENIZER], "on": TEXT},
    "count": {"inputs": TEXT, "threads": None, "progress": None},
    "count_partition": {"batch": ["low"], "pretokenizer": None, "unit": None},
    "count_to_file": {"inputs": TEXT, "output": "counts.tsv", "force": True},
    "encode_to_files": {"tokenizer": TOKENIZER, "inputs": TEXT, "path": "x.bin", "progress": None,
                        "force": True},
    "export": {"vocabulary": TOKENIZER.vocabulary, "to": "hf", "path": "x.json", "force": True},
    "extend": {"tokenizer": TOKENIZER, "on": TEXT, "add": 2},
    "import_vocabulary": {"path": "x.json", "form": None},
    "join": {"parts": [TOKENIZER.vocabulary] * 2},
    "learn": {"inputs": TEXT, "size": 270, "threads": None, "progress": None},
    "learn_languages": {"texts": {"de": TEXT, "en": TEXT}},
    "learn_scripts": {"inputs": TEXT, "size": None, "threads": None},
    "load": {"path": "volt.json", "threads": None},
    "load_candidates": {"path": "candidates.tsv"},
    "load_vocabulary": {"path": "volt.json"},
    "merge_counts": {"parts": [COUNTS], "min_count": 1},
    "refit": {"tokenizer": TOKENIZER, "on": TEXT, "size": 265},
    "search": {"inputs": COUNTS, "sizes": [269, 272]},
    "verify": {"first": "volt.json", "second": "volt.json", "on": TEXT},
}  # fmt: skip
CALLS = [(getattr(TOKENIZER, name), good) for name, good in METHODS.items()]
CALLS += [(getattr(volt, name), good) for name, good in FUNCTIONS.items()]
PLACES = [(call, good, name) for call, good in CALLS for name in good if name != "force"]


def place_name(value):
    return getattr(value, "__name__", value) if not isinstance(value, dict) else ""


def run(call, arguments):
    """Call it, and take all that it returns if it does so one by one."""
    found = call(**arguments)
    if inspect.isgenerator(found):
        list(found)


def test_no_public_call_is_left_out():
    functions = {name for name in volt.__all__ if inspect.isfunction(getattr(volt, name))}
    assert functions <= FUNCTIONS.keys()
    methods = {name for name, _ in inspect.getmembers(type(TOKENIZER), inspect.isfunction)}
    public = {name for name in methods if not name.startswith("_")}
    # They take nothing, a flag, or what only volt makes.
    assert public - METHODS.keys() == {"to_transformers", "decode_stream", "with_vocabulary"}


@pytest.mark.filterwarnings("ignore::volt.VoltWarning")
@pytest.mark.parametrize("name", ["count", "learn", "search"])
def test_an_option_of_the_wrong_type_is_an_error_of_volt(name, tmp_path, monkeypatch):
    """Options are many, and the calls share them."""
    monkeypatch.chdir(tmp_path)
    call, good = getattr(volt, name), FUNCTIONS[name]
    for option in inspect.signature(call).parameters.keys() - good.keys():
        for value in (Odd(), b"low", {"a": 1}, object, float("nan"), [None]):
            with suppress(VoltError):  # every other error fails the test
                run(call, {**good, option: value})


@pytest.mark.filterwarnings("ignore::volt.VoltWarning")
@pytest.mark.parametrize("call,good,name", PLACES, ids=place_name)
def test_the_error_names_the_parameter(call, good, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TOKENIZER.vocabulary.save("volt.json")
    for value in WRONG:
        with suppress(VoltError):  # every other error fails the test
            run(call, {**good, name: value})
    text_of = {"encode_file": "path", "count_partition": "batch"}
    of_text = name in ("inputs", "on") or text_of.get(call.__name__) == name
    with pytest.raises(VoltError, match="input 1" if of_text else f"`{name}`") as found:
        run(call, {**good, name: Odd()})
    assert isinstance(found.value, TypeError | ValueError)


def test_a_stream():
    for value in (None, 2.5, "3", Odd()):
        with pytest.raises(ArgumentTypeError, match="`token_id` must be a whole number"):
            TOKENIZER.decode_stream().push(value)


def test_ids_are_not_made_of_other_things():
    for value in ([2.5], ["3"], [None], [[1], [2, 3]], "12", 3):
        with pytest.raises(ArgumentTypeError, match="`ids` must be"):
            TOKENIZER.decode(value)


def test_errors_of_python_stay_what_they_are():
    def work(text: str) -> int:
        return len(text) + None

    with pytest.raises(TypeError) as found:
        names_arguments(work)("low")
    assert not isinstance(found.value, VoltError)
    with pytest.raises(TypeError, match="missing"):
        names_arguments(work)()
    with pytest.raises(ArgumentTypeError, match="`text` must be str, not int"):
        names_arguments(work)(3)
    assert inspect.signature(names_arguments(work)) == inspect.signature(work)


def test_what_fits():
    assert fits(3, int | None)
    assert fits(None, int | None)
    assert not fits(True, int)
    assert fits(["a"], list[str])
    assert not fits(["a", 3], list[str])
    assert fits(TOKENIZER, "Tokenizer")
    assert not fits(3, "Tokenizer")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: volt.learn("a", separate=True), "call volt.learn once for each side"),
        (lambda: volt.learn("a", source="b", target="c"), "files of both sides as one list"),
        (lambda: volt.learn("a", output="b"), r"result.save\(folder\)"),
        (lambda: volt.export(None, to="hf", output="x"), "`output` is `path` in Python"),
    ],
)
def test_options_of_the_command_line_say_what_python_has_instead(call, said):
    with pytest.raises(volt.SettingsError, match=said):
        call()


def test_several_texts_are_for_encode_batch():
    tokenizer = volt.learn([["low lower lowest"] * 30], size=272).tokenizer
    with pytest.raises(volt.SettingsError, match=r"encode_batch takes several texts"):
        tokenizer.encode(["low"])
