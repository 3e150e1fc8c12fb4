#!/bin/sh
# The Python package's own tests, on this build's library.
#   python.sh BUILD                  with NumPy and what the tests need; those of other libraries are skipped
#   python.sh BUILD every-library    with all libraries, some 10 GB: only a GPU or the right to mount may be missing
set -eu
build=$1
. python/tools.sh
if [ "${2:-}" = every-library ]; then
  venv=build/python/every lists='test pages field models' options=--every-library
else
  venv=build/python/test lists='test pages' options=''
fi
# shellcheck disable=SC2086 # a list of words
python_tools $venv $lists || { echo "skipped: no virtual environment with the pinned packages (build/python/pip.log)"; exit 77; }
# What is freed is kept, as in the other tests (cmake/softcheck_targets.cmake).
export MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824
# shellcheck disable=SC2086
SOFTCHECK_LIBRARY="$build/libsoftcheck.so" SOFTCHECK_KERNELS="$build/kernels" PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1 \
  $venv/bin/python -m pytest -q -rsfE -p softcheck.pytest_plugin -p no:cacheprovider $options python/tests
