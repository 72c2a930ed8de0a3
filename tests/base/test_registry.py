"""The registry: names in order, one entry per name, an error that helps."""

from dataclasses import dataclass

import pytest

from volt.base.errors import SettingsError
from volt.base.registry import Registry


@dataclass(frozen=True)
class Fruit:
    name: str


def test_entries_by_name_in_order():
    fruits = Registry("fruit", [Fruit("pear"), Fruit("apple")])
    fruits.register(Fruit("fig"))
    assert list(fruits) == ["pear", "apple", "fig"]
    assert (fruits["fig"], len(fruits), "plum" in fruits) == (Fruit("fig"), 3, False)
    del fruits["fig"]
    assert "fig" not in fruits


def test_one_entry_per_name():
    fruits = Registry("fruit", [Fruit("pear")])
    with pytest.raises(SettingsError, match="already a fruit named 'pear'"):
        fruits.register(Fruit("pear"))


def test_a_wrong_name_lists_the_right_ones():
    fruits = Registry("fruit", [Fruit("pear"), Fruit("apple")])
    with pytest.raises(SettingsError, match="one of pear, apple, not 'aple'; did you mean 'apple'"):
        fruits["aple"]
    with pytest.raises(SettingsError, match=r"not 'xyz'$"):
        fruits["xyz"]
