"""Check what building volt needs; print one line per missing item, with the way to get it.

    python3 tools/preflight.py GIGABYTES FOLDER

GIGABYTES of disk space must be free where FOLDER is or will be. This file runs on Python 3.6 and
later, to tell an old Python that it is too old.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

OLDEST = (3, 10)
PROGRAM = """
#include <algorithm>
#include <concepts>
#include <span>
#include <thread>
#include <vector>
template <std::integral T> T largest(std::span<const T> values) {
  return *std::ranges::max_element(values);
}
int main() {
  std::vector<int> values{1, 3, 2};
  int found = 0;
  std::thread([&] { found = largest<int>(values); }).join();
  return found == 3 ? 0 : 1;
}
"""


def old_python():
    if sys.version_info >= OLDEST:
        return None
    return (
        f"Python 3.10 or later ({sys.executable} is {sys.version.split()[0]}). "
        "Name a newer one: make PYTHON=/path/to/python3"
    )


def no_venv():
    if all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        return None
    return "Python's modules venv and ensurepip. Debian: apt-get install python3-venv"


def no_headers():
    if Path(sysconfig.get_paths()["include"], "Python.h").exists():
        return None
    return "Python.h. Debian: apt-get install python3-dev; Fedora: dnf install python3-devel"


def no_compiler():
    """Compile and link a small program: a compiler can be there without its library."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    compiler = next(filter(None, map(shutil.which, names)), None)
    get = "Debian: apt-get install g++; Fedora: dnf install gcc-c++; macOS: xcode-select --install"
    if compiler is None:
        return f"a C++20 compiler ({' or '.join(names)} not found). {get}"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "a.cpp")
        source.write_text(PROGRAM)
        done = subprocess.run(
            [compiler, "-std=c++20", "-pthread", str(source), "-o", str(Path(folder, "a"))],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    if done.returncode == 0:
        return None
    lines = done.stdout.decode(errors="replace").splitlines()
    said = next((line.strip() for line in lines if "error" in line), "no message")
    return f"a C++20 compiler ({compiler}: {said}). {get}; or name another one: CXX=g++-12"


def full_disk(gigabytes, folder):
    folder = Path(folder).resolve()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(str(folder)).free / 1e9
    if free >= gigabytes:
        return None
    return (
        f"{gigabytes:g} GB of disk space ({folder} has {free:.1f} GB). "
        "Free some, or use a folder on another disk: make VENV=folder"
    )


def main():
    gigabytes, folder = float(sys.argv[1]), sys.argv[2]
    missing = [old_python()]
    if missing == [None]:
        missing = [no_venv(), no_headers(), no_compiler(), full_disk(gigabytes, folder)]
    missing = [line for line in missing if line]
    for line in missing:
        print(f"missing: {line}", file=sys.stderr)
    return 2 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
