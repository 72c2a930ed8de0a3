"""What all tests share: how hypothesis runs, and where real text is."""

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run and every machine, slow ones included. HYPOTHESIS_PROFILE=long
# searches further, at random.
settings.register_profile(
    "volt",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "long", settings.get_profile("volt"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "volt"))


@pytest.fixture(scope="session")
def volt_data() -> Callable[[str], Path]:
    """`volt_data("multi30k/valid.de")`: a file of real text, packed or not. Its folder is named by
    the environment variable VOLT_DATA; without it the test is skipped."""

    def find(name: str) -> Path:
        folder = os.environ.get("VOLT_DATA")
        if not folder:
            pytest.skip("VOLT_DATA names no folder with real text")
        for suffix in (".xz", ""):
            path = Path(folder, name + suffix)
            if path.is_file():
                return path
        pytest.skip(f"no {name} in VOLT_DATA")

    return find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was skipped and why, one line per reason. A file that was skipped as a whole counts as
    one."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.getreports("skipped")
    )
    if reasons:
        terminalreporter.section("skipped")
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        terminalreporter.line(f"{count:5}  {reason}")
