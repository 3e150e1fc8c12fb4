#!/bin/sh
# The Conan recipe makes a package from the archive of the sources, with the system's libraries and nothing of ConanCenter, and a
# program against it has a softmax judged.
set -eu
cd "$(dirname "$0")/../../.."
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: the Conan package is made by ./run test --deep"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "Skipped: no git checkout, of which an archive could be made"; exit 77; }
command -v apt-get >/dev/null 2>&1 || { echo "Skipped: the recipe names Debian's packages"; exit 77; }
. python/tools.sh
python_tools build/python/conan conan || { echo "Skipped: no virtual environment with Conan (build/python/pip.log)"; exit 77; }
conan=$PWD/build/python/conan/bin/conan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME="$work/home"
mkdir "$work/sources"
git archive HEAD | tar -x -C "$work/sources"
"$conan" profile detect >"$work/log" 2>&1
"$conan" remote remove conancenter >>"$work/log" 2>&1
"$conan" create "$work/sources/packaging/conan" >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "conan create failed"; exit 1; }
grep -x pass "$work/log" || { tail -n 20 "$work/log"; echo "the program judged no kernel"; exit 1; }
