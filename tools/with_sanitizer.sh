#!/usr/bin/env bash
# Run a Python command with the sanitized native module in place of the installed one.
#     tools/with_sanitizer.sh PYTHON ARGUMENT...
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -r "$root/src/volt" "$folder/volt"
cp "$root"/build/sanitize/_core*.so "$folder/volt/"
# -S: without .pth files, so that the editable install does not come first. Python's own allocations are
# not ours to judge; leaks are not looked for, since it frees little at exit.
python=$1
shift
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
PYTHONPATH="$folder:$packages" \
  LD_PRELOAD="$(${CXX:-g++} -print-file-name=libasan.so) $(${CXX:-g++} -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  "$python" -S "$@"
