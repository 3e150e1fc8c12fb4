# For ./run and the tests, which read it from the checkout's root. shellcheck shell=sh

# python_tools FOLDER LIST...: a virtual environment with what python/requirements/LIST.txt pins; fails where there is none
# to be had, and build/python/pip.log says why.
python_tools() {
  mkdir -p build/python
  venv=$1
  shift
  if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv" >build/python/pip.log 2>&1 || { rm -rf "$venv"; return 1; }
  fi
  lists=''
  for list do lists="$lists python/requirements/$list.txt"; done
  # shellcheck disable=SC2086 # a list of paths
  cat $lists | cmp -s - "$venv/installed.txt" && return 0
  # shellcheck disable=SC2086,SC2046
  "$venv/bin/python" -m pip install -q --disable-pip-version-check $(printf -- '-r %s ' $lists) >build/python/pip.log 2>&1 || return 1
  # shellcheck disable=SC2086
  cat $lists >"$venv/installed.txt"
}

# make_wheel BUILD TARGET TOOLS: the package with what BUILD holds, made whole by auditwheel, in the folder TARGET.
make_wheel() {
  rm -rf "$2" "$2-bare"
  SOFTCHECK_BUILD_TESTS=ON SOFTCHECK_BUILD_BENCHMARKS=ON SOFTCHECK_UNITY="$(grep -s '^SOFTCHECK_UNITY:' "$1/CMakeCache.txt" | cut -d= -f2)" "$3/bin/python" -m pip wheel --disable-pip-version-check \
    --no-build-isolation --no-deps -q -C "build-dir=$1" -w "$2-bare" . >build/python/wheel.log 2>&1 || return 1
  PATH="$PWD/$3/bin:$PATH" "$3/bin/python" -m auditwheel repair -z 9 --strip -w "$2" "$2-bare"/*.whl >>build/python/wheel.log 2>&1 || return 1
  rm -rf "$2-bare"
}

# cuobjdump_at: prints the path of NVIDIA's disassembler, which calls the nvdisasm beside it: from PATH, from the toolkit, or
# from PyPI; fails where there is none to be had, and build/python/pip.log says why.
cuobjdump_at() {
  for cuobjdump in "$(command -v cuobjdump)" /usr/local/cuda/bin/cuobjdump; do
    [ -x "$cuobjdump" ] && [ -x "${cuobjdump%/*}/nvdisasm" ] && { echo "$cuobjdump"; return 0; }
  done
  python_tools build/python/cuda cuda || return 1
  find "$PWD/build/python/cuda/" -path '*/bin/cuobjdump' | grep .
}
