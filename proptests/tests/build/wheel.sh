#!/bin/sh
# The wheel as a stranger gets it: in a new virtual environment, without a compiler or anything else on the path, and in a
# Debian with an older glibc.
#   wheel.sh BUILD [libraries]    libraries: makes what the wheel links and no more, while other tests run
set -eu
build=$1
. python/tools.sh
python_tools build/python/wheel wheel_local wheel || { echo "skipped: no virtual environment with the pinned packages (build/python/pip.log)"; exit 77; }
status=0
sh cmake/portable.sh "build/portable/$(uname -m)" build/python/wheel/bin/python "$(uname -m)" || status=$?
[ $status != 4 ] || { echo "skipped: no sources of Debian's packages"; exit 77; }
[ "${2:-}" != libraries ] || exit $status
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_wheel "$build" "$work/wheels" build/python/wheel || { tail -n 30 build/python/wheel.log; exit 1; }
kib=$(($(cat "$work"/wheels/*.whl | wc -c) / 1024))
[ "$kib" -le $((15 * 1024)) ] || { echo "the wheel has $kib KiB: need at most 15 MiB"; exit 1; }
ls "$work"/wheels/*-py3-none-manylinux_2_27_*.whl # action.yml asks a release for it
# What PyPI asks of it.
if python_tools build/python/release release; then
  build/python/release/bin/twine check --strict "$work"/wheels/*.whl
  build/python/release/bin/python - "$work"/wheels/*.whl <<'PYTHON'
import email, sys, trove_classifiers, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
said = email.message_from_bytes(wheel.read(next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))))
unknown = set(said.get_all("Classifier")) - trove_classifiers.classifiers
assert not unknown, unknown
missing = [key for key in ("Author", "Keywords", "License-Expression", "License-File", "Requires-Python", "Summary") if not said[key]]
assert not missing, missing
PYTHON
else
  echo "SKIPPED [1] wheel.sh:1: no twine to check the wheel with (build/python/pip.log)"
fi
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check "$work"/wheels/*.whl
mkdir "$work/empty" "$work/scripts"
cp proptests/tests/build/wheel/use.py python/tests/kernels.py "$work/scripts/"
run="env -i HOME=$work PATH=$work/empty $work/venv/bin/python"
$run "$work/scripts/use.py"
# The command, by its name and by Python's.
script="env -i HOME=$work PATH=$work/empty $work/venv/bin/softcheck"
[ "$($script version)" = "$($run -m softcheck version)" ] || { echo "softcheck and python -m softcheck are two commands"; exit 1; }
$script version
status=0
$script check --op softmax --logits "$work/none.npy" --output "$work/none.npy" || status=$?
[ $status = 3 ] || { echo "softcheck check of no file: exit $status, not 3"; exit 1; }
# The kernels and networks that it brings, and not this checkout's.
cd "$work/empty"
$script verify --quick --cases 5 >"$work/log" 2>&1 || { tail -n 5 "$work/log"; echo "the wheel verifies nothing"; exit 1; }
cd - >/dev/null
tail -n 1 "$work/log"
site=$(dirname "$(find "$work/venv" -name softcheck -type d | head -n 1)")
while read -r file code; do
  cp "$site/softcheck/$file" "$work/kept"
  echo nothing >"$site/softcheck/$file"
  status=0
  $script verify --cases 1 >"$work/log" 2>&1 || status=$?
  [ $status = "$code" ] && grep -q "^softcheck: .*$site/softcheck/$file" "$work/log" || { tail -n 5 "$work/log"; echo "verify with a broken $file: exit $status, need $code"; exit 1; }
  cp "$work/kept" "$site/softcheck/$file"
done <<'FILES'
share/softcheck/models/seeds/seed-01.safetensors 3
lib/softcheck/libsoftcheck_cpu_kernels.so 4
FILES
sh proptests/tests/build/wheel/symbols.sh "$site"
# A licence for each library that it brings.
libraries=$(ls "$site/softcheck.libs" | wc -l) licences=$(ls "$site/softcheck/licences" | grep -vc '^softcheck')
[ "$licences" -ge "$libraries" ] || { ls "$site/softcheck.libs" "$site/softcheck/licences"; exit 1; }
for package in librapidcheck-dev nlohmann-json3-dev libeigen3-dev libcli11-dev libtomlplusplus-dev; do # compiled in
  [ -f "$site/softcheck/licences/$package.txt" ] || { echo "no licence of $package in the wheel"; exit 1; }
done
sh proptests/tests/build/old_debian.sh "$work"/wheels/*.whl build/python/wheel/bin/python || [ $? = 77 ] || exit 1
# The same wheel for another Python: the newest that is here, with --deep each.
others=no
used=$(python3 -c 'import sys; print("3.%d" % sys.version_info[1])')
for minor in 14 13 12 11 10 9; do
  [ "3.$minor" != "$used" ] || continue
  other=python3.$minor
  # What pyenv puts on the path answers for the versions that are chosen alone.
  if ! $other -c 0 2>/dev/null && command -v pyenv >/dev/null 2>&1; then
    other=$(find "$(pyenv root)/versions/" -path "*/versions/3.$minor.*/bin/python3.$minor" | sort | tail -n 1)
  fi
  ${other:-false} -c 'import venv, ensurepip' 2>/dev/null || continue
  $other -m venv "$work/$minor"
  "$work/$minor/bin/python" -m pip install -q --disable-pip-version-check "$work"/wheels/*.whl
  env -i HOME="$work" PATH="$work/empty" "$work/$minor/bin/python" "$work/scripts/use.py"
  echo "Python 3.$minor: passes"
  others=yes
  [ "${SOFTCHECK_EFFORT:-}" = deep ] || break
done
[ $others = yes ] || echo "SKIPPED [1] wheel.sh:1: no other Python than $used here: the wheel is tried by that alone"
