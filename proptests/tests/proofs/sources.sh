#!/bin/sh
# sources.sh PROOFS: the files of the development, one a line. Those that only show how near a bound is (numerics/reached_*.v)
# wait for SOFTCHECK_EFFORT=deep, but for the one that others import; a development that is not the project's has none.
set -eu
cd "$1"
find . -name '*.v' | sed 's|^\./||' | LC_ALL=C sort |
  awk -v effort="${SOFTCHECK_EFFORT:-}" 'effort == "deep" || !/^numerics\/reached_/ || /reached_bounds/'
