"""Hints at the name that was meant."""

import pytest

from volt.base.checks import did_you_mean

FLAGS = ["--size", "--sizes", "--special", "--candidates", "--coverage", "--output", "--dropout"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("--vocab-size", "--size"), ("--vocab_size", "--size"), ("vocab_size", "--size"),
        ("--special_tokens", "--special"), ("--model-type", "--candidates"),
        ("--character_coverage", "--coverage"), ("--model_prefix", "--output"),
        ("--sample", "--dropout"), ("--siz", "--size"),
    ],
)  # fmt: skip
def test_names_of_other_toolkits_are_known(name, meant):
    assert did_you_mean(name, FLAGS, "") == f"; did you mean {meant}?"


def test_a_name_of_another_toolkit_means_nothing_where_ours_is_missing():
    assert did_you_mean("--vocab-size", ["--force"]) == ""
    assert did_you_mean("--sampel", ["--sample", "--dropout"], "") == "; did you mean --sample?"
    assert did_you_mean("min_cont", ["min_count"], "`") == "; did you mean `min_count`?"
