#!/usr/bin/env bash
# Run a Python command with the sanitized native module in place of the installed one.
#     tools/with_sanitizer.sh PYTHON ARGUMENT...
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$root/src/volt" "$folder/volt"
cp "$root"/build/sanitize/_core*.so "$folder/volt/"
# Python's own allocations are not ours to judge; leaks are not looked for, since it frees little at exit.
PYTHONPATH="$folder" \
  LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so) $(${CXX:-g++} -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  "$@"
