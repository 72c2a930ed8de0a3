"""Optional dependencies: what is said where one is missing."""

import sys

import pytest

from volt.base.errors import SettingsError
from volt.base.extras import need


@pytest.mark.parametrize(("name", "first"), [("torch", True), ("sacrebleu", False)])
def test_the_small_torch_is_named_for_machines_without_a_gpu(monkeypatch, name, first):
    monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(SettingsError, match=rf"this needs {name}: pip install .*trial") as error:
        need(name, "trial")
    assert ("without a GPU, install torch's small CPU build" in str(error.value)) == first
