"""Known vulnerabilities in what is installed: make audit.

Asks pip-audit, as it is configured. A mirror of the package index has no advisories, and pip-audit
passes over every package that it has no answer for. So those packages are named, and an audit of
none is an error.

Exit 0: audited, nothing found. 1: vulnerabilities. 2: nothing was audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SHOWN = 5


def verdict(report: str, errors: str) -> tuple[int, list[str]]:
    """The exit code, and what to say, from what pip-audit printed."""
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (errors.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        return 2, [f"nothing was audited: {last}"]
    passed_over = [one["name"] for one in packages if "skip_reason" in one]
    audited = len(packages) - len(passed_over)
    if audited == 0:
        return 2, ["nothing was audited: the service has no answer for any package. "
                   'Name another one: make audit AUDIT="-s osv"']  # fmt: skip
    lines = [
        f"{one['name']} {one['version']}: {found['id']}, fixed in "
        f"{', '.join(found['fix_versions']) or 'no version yet'}"
        for one in packages
        for found in one.get("vulns", [])
    ]
    lines.append(f"{audited} packages audited, {len(lines)} vulnerabilities")
    if passed_over:
        names = ", ".join(passed_over[:SHOWN]) + (" ..." if len(passed_over) > SHOWN else "")
        lines.append(f"{len(passed_over)} packages could not be audited: {names}")
    return int(len(lines) > 1 + bool(passed_over)), lines


def main() -> int:
    freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    installed = subprocess.run(freeze, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "installed.txt")
        listed.write_text(installed)
        done = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--disable-pip", "--no-deps", "-f", "json",
             "-r", str(listed), *sys.argv[1:]],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    code, lines = verdict(done.stdout, done.stderr)
    print("\n".join(lines), file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
