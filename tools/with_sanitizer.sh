#!/usr/bin/env bash
# Run a Python command with a sanitized native module in place of the installed one; with `none` the
# installed one, but from plain files, since atheris does not see through an editable install.
#     tools/with_sanitizer.sh sanitize|tsan|none PYTHON ARGUMENT...
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
build=$1 python=$2
shift 2
cp -r "$root/src/volt" "$folder/volt"
compiler=${CXX:-g++}
run=() preload=""
case $build in
  sanitize) preload=$("$compiler" -print-file-name=libasan.so) ;;
  tsan)
    preload=$("$compiler" -print-file-name=libtsan.so)
    run=(setarch -R)  # it finds no room where addresses are drawn from a large range
    ;;
esac
if [ "$build" = none ]; then
  cp "$("$python" -c 'import volt._core; print(volt._core.__file__)')" "$folder/volt/"
else
  cp "$root/build/$build"/_core*.so "$folder/volt/"
  preload+=" $("$compiler" -print-file-name=libstdc++.so)"
fi
# -S: without .pth files, so that the editable install does not come first. Python's own allocations are
# not ours to judge; leaks are not looked for, since it frees little at exit. A damaged Arrow file asks for
# 137 GB: that is a MemoryError, as without a sanitizer, which would end the process. A child after a fork
# starts threads of its own, which TSan does not allow by itself.
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
PYTHONPATH="$folder:$packages${PYTHONPATH:+:$PYTHONPATH}" \
  LD_PRELOAD="$preload" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  TSAN_OPTIONS="exitcode=66 report_signal_unsafe=0 die_after_fork=0" OPENBLAS_NUM_THREADS=1 \
  "${run[@]}" "$python" -S "$@"
