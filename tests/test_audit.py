"""make audit: what is said of what pip-audit printed."""

import importlib.util
import json
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "audit.py"
OLD = {"name": "old", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
GOOD = {"name": "good", "version": "3", "vulns": []}
UNKNOWN = {"name": "other", "skip_reason": "not found"}


@pytest.fixture(scope="module")
def verdict():
    spec = importlib.util.spec_from_file_location("audit", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.verdict


@pytest.mark.parametrize(
    ("packages", "code", "words"),
    [
        ([GOOD], 0, "1 packages audited, 0 vulnerabilities"),
        ([GOOD, UNKNOWN], 0, "1 packages could not be audited: other"),
        ([OLD, GOOD], 1, "old 1: X-1, fixed in 2"),
        ([OLD, UNKNOWN], 1, "1 packages audited, 1 vulnerabilities"),
        ([UNKNOWN], 2, "nothing was audited"),
        ([], 2, "nothing was audited"),
    ],
)
def test_what_was_found_decides(verdict, packages, code, words):
    found, lines = verdict(json.dumps({"dependencies": packages, "fixes": []}), "")
    assert found == code
    assert words in "\n".join(lines)


def test_a_service_that_does_not_answer_is_named(verdict):
    assert verdict("", "Traceback\nConnectionError: no route\n") == (
        2, ["nothing was audited: ConnectionError: no route"],
    )  # fmt: skip


def test_no_package_index_is_named_by_its_address():
    for name in ("Makefile", "tools/audit.py", "tools/environment.sh", ".ci/run"):
        assert "pypi.org" not in (TOOL.parents[1] / name).read_text(encoding="utf-8")
