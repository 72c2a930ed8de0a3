#!/bin/sh
# Build the packages, check them, and try the wheel where nothing else is installed.
#     PYTHON=python tools/wheel.sh FOLDER
# From Python 3.12 on the wheel is for the stable ABI: one for all later versions.
set -eu
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$(dirname "$PYTHON")

# The wheel is built from the sdist, so both are complete.
"$PYTHON" -m build --outdir "$work"
built=$(ls "$work"/*.whl)
case $built in
  *-abi3-*) "$bin/abi3audit" --strict --summary "$built" ;;
  *) echo "this Python is older than 3.12: the wheel is for this version only" ;;
esac
PATH="$(cd "$bin" && pwd):$PATH" "$bin/auditwheel" repair --wheel-dir "$work/repaired" "$built"
wheel=$(ls "$work"/repaired/*.whl)
"$bin/auditwheel" show "$wheel" | grep 'platform tag'

# An empty environment and no compiler: PATH has nothing but that environment.
"$PYTHON" -m venv "$work/empty"
"$work/empty/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: "$wheel"
here=$(pwd)
cd "$work"
"$work/empty/bin/python" "$here/tools/demo_text.py" text.txt
PATH="$work/empty/bin" CXX=none CC=none volt --version
PATH="$work/empty/bin" volt learn text.txt -o result --quiet
PATH="$work/empty/bin" volt info result >/dev/null
cd "$here"
mkdir -p "$out"
mv "$work"/*.tar.gz "$wheel" "$out"
ls -l "$out"
