"""Print the oldest versions that pyproject.toml allows, as pip's constraints.

python tools/lower_bounds.py > constraints.txt
"""

import re
from pathlib import Path

# No TOML reader comes with Python 3.10; requirements are the only strings of this form.
REQUIREMENT = re.compile(r'"([a-zA-Z0-9-]+)>=([0-9.]+)[^"]*"')


def main() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    bounds: dict[str, str] = {}
    for name, version in REQUIREMENT.findall(text):
        if bounds.setdefault(name, version) != version:
            raise SystemExit(
                f"pyproject.toml: two lower bounds for {name}: {bounds[name]}, {version}"
            )
    for name in sorted(bounds):
        print(f"{name}=={bounds[name]}")


if __name__ == "__main__":
    main()
