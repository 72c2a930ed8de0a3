"""Which byte-level patterns load in llama.cpp, and that `learn` says so."""

import pytest

import volt
from volt.counting.words import PRETOKENIZERS
from volt.formats.patterns import LLAMA_CPP, LLAMA_CPP_DIFFERS, full_name

LOW = [["low lower lowest newest"] * 4]


@pytest.mark.parametrize("pretokenizer", [*LLAMA_CPP, "byte-level:cl100k", "metaspace"])
def test_learn_says_when_llama_cpp_does_not_know_the_pattern(pretokenizer):
    said = [
        one for one in volt.learn(LOW, pretokenizer=pretokenizer).messages if "llama.cpp" in one
    ]
    assert bool(said) == (pretokenizer in ("byte-level:cl100k", *LLAMA_CPP_DIFFERS))


def test_learn_says_that_llama_cpp_has_no_custom_pattern():
    pytest.importorskip("regex")
    (said,) = [
        one
        for one in volt.learn(LOW, pretokenizer=r"custom:\w+|\s+").messages
        if "llama.cpp" in one
    ]
    assert r"no pattern like that of custom:\w+|\s+" in said


def test_the_patterns_are_pretokenizers():
    assert all(PRETOKENIZERS[name].patterns for name in LLAMA_CPP)
    assert LLAMA_CPP_DIFFERS.keys() <= LLAMA_CPP.keys()


def test_a_pattern_is_named_in_short_and_a_wrong_name_is_not_a_regular_expression():
    assert full_name("gpt2") == full_name("byte-level") == "byte-level"
    assert full_name("llama3") == full_name("byte-level:llama3") == "byte-level:llama3"
    assert full_name(r"\w+|\s+") == full_name(r"custom:\w+|\s+") == r"\w+|\s+"
    assert full_name("custom:lama3") == "lama3"
    for wrong in ("lama3", "byte-level:lama3"):
        with pytest.raises(volt.SettingsError, match="did you mean byte-level:llama3"):
            full_name(wrong)
    for unknown in ("mistral", "byte-level:mistral"):
        with pytest.raises(volt.SettingsError, match=f"not '{unknown}'$"):
            full_name(unknown)
        with pytest.raises(volt.SettingsError) as told:
            volt.count([["low"]], pretokenizer=unknown)
        assert "starcoder?" not in str(told.value)
    with pytest.raises(volt.SettingsError, match=r"`pattern` must be one of gpt2, cl100k, .* not"):
        full_name("metaspace")
