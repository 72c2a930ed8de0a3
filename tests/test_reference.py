"""The slow twins. Their results are compared with the native code in the tests of each stage."""

import pkgutil

from volt import reference


def test_every_module_is_in_the_reading_order():
    for module in pkgutil.iter_modules(reference.__path__):
        assert f"`{module.name}`" in reference.__doc__
        assert hasattr(reference, module.name)
