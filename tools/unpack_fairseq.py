"""Unpack the dictionary of fairseq into this environment. Run by `make large`.

fairseq 0.12.2, the last release, has no wheel for a Python that volt supports, and can't be
imported in one. What `fairseq.data.dictionary` needs is the same in the wheel for Python 3.8.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

WHEEL = ("--python-version", "3.8", "--platform", "manylinux1_x86_64", "--only-binary", ":all:")
FILES = ("__init__.py", "tokenizer.py", "file_io.py", "file_chunker_utils.py", "data/dictionary.py")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        found = subprocess.run([*pip, "--no-deps", *WHEEL, "-d", folder, "fairseq==0.12.2"])
        if found.returncode:
            return found.returncode
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(sysconfig.get_path("purelib"), [f"fairseq/{name}" for name in FILES])
    return 0


if __name__ == "__main__":
    sys.exit(main())
