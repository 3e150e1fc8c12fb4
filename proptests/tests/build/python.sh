#!/bin/sh
# The Python package's own tests, on this build's library.
set -eu
build=$1
. python/tools.sh
python_tools build/python/test test || { echo "skipped: no virtual environment with the pinned packages (build/python/pip.log)"; exit 77; }
SOFTCHECK_LIBRARY="$build/libsoftcheck.so" SOFTCHECK_KERNELS="$build/kernels" PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1 \
  build/python/test/bin/python -m pytest -q -rs -p softcheck.pytest_plugin -p no:cacheprovider python/tests
