#!/usr/bin/env bash
# Run a Python command with a sanitized native module in place of the installed one.
#     tools/with_sanitizer.sh sanitize|tsan PYTHON ARGUMENT...
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build=$1 python=$2
shift 2
cp -r "$root/src/volt" "$folder/volt"
cp "$root/build/$build"/_core*.so "$folder/volt/"
library=libasan.so
run=()
if [ "$build" = tsan ]; then
  library=libtsan.so
  run=(setarch -R)  # it finds no room where addresses are drawn from a large range
fi
# -S: without .pth files, so that the editable install does not come first. Python's own allocations are
# not ours to judge; leaks are not looked for, since it frees little at exit.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
PYTHONPATH="$folder:$packages${PYTHONPATH:+:$PYTHONPATH}" \
  LD_PRELOAD="$(${CXX:-g++} -print-file-name=$library) $(${CXX:-g++} -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS="exitcode=66 report_signal_unsafe=0" OPENBLAS_NUM_THREADS=1 \
  "${run[@]}" "$python" -S "$@"
