#!/bin/sh
# The Python environment that make works in.
#     tools/environment.sh prepare FOLDER PYTHON GIGABYTES   check what is needed; make it where it is missing or broken
#     tools/environment.sh install FOLDER ARGUMENT...        pip install
# An interrupted install can leave half a package that pip takes for a whole one. The file .installing says that there
# was one, and the environment is made again; what was downloaded comes from pip's cache.
set -eu
command=$1 folder=$2
shift 2
case $command in
  prepare)
    python=$1 gigabytes=$2
    if [ -s "$folder/.installing" ]; then
      case $(ps -o stat= -p "$(cat "$folder/.installing")" 2>/dev/null) in
        '' | Z*) ;;  # it has ended
        *)
          echo "another make is installing into $folder: wait for it to end, then start again" >&2
          exit 2
          ;;
      esac
    fi
    command -v "$python" >/dev/null || {
      echo "missing: $python. Install Python 3.10 or later (Debian: apt-get install python3 python3-venv python3-dev)," \
        "or name it: make PYTHON=/path/to/python3" >&2
      exit 2
    }
    if [ ! -e "$folder/.installing" ] && "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
      "$folder/bin/python" tools/preflight.py "$gigabytes" "$folder"
      exit
    fi
    if [ -e "$folder" ] && [ ! -e "$folder/pyvenv.cfg" ] && [ -n "$(ls -A "$folder")" ]; then
      echo "$folder is not a Python environment: remove it, or name another folder with VENV=folder" >&2
      exit 2
    fi
    "$python" tools/preflight.py "$gigabytes" "$folder"
    mkdir -p "$folder"
    : >"$folder/pyvenv.cfg"  # from now on it is ours to clear
    "$python" -m venv --clear "$folder"
    ;;
  install)
    trap 'exit 130' HUP INT TERM
    echo $$ >"$folder/.installing"
    status=0
    "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@" || status=$?
    rm -f "$folder/.installing"
    exit $status
    ;;
esac
