"""The slow twins. Their results are compared with the native code in the tests of each stage."""

import pkgutil

from volt import reference


def test_every_module_is_in_the_reading_order():
    modules = {module.name for module in pkgutil.iter_modules(reference.__path__)}
    assert set(reference.__all__) == modules
    assert all(f"`{name}`" in reference.__doc__ for name in reference.__all__)
