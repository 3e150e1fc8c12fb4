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

# bare_wheel BUILD TARGET PYTHON [PORTABLE]: the package with what BUILD holds, linked by what cmake/portable.sh made in PORTABLE.
bare_wheel() {
  # scikit-build-core passes what pyproject.toml says where the environment says nothing.
  for name in SOFTCHECK_UNITY SOFTCHECK_BUILD_TESTS SOFTCHECK_BUILD_BENCHMARKS; do
    export "$name=$(sed -n "s/^$name:[A-Z]*=//p" "$1/CMakeCache.txt")"
  done
  "$3" -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps -q -C "build-dir=$1" \
    -C "cmake.define.SOFTCHECK_PORTABLE=${4:-}" -w "$2" .
}

# make_wheel BUILD TARGET TOOLS [ARCHITECTURE]: the package with what BUILD holds, made whole by auditwheel, in the folder
# TARGET. auditwheel finds the oldest glibc that the package runs with.
make_wheel() {
  build=$1 target=$2 tools=$PWD/$3 architecture=${4:-$(uname -m)}
  portable=$PWD/build/portable/$architecture
  rm -rf "$target" "$target-bare"
  mkdir -p build/python "$target"
  if [ "$architecture" = "$(uname -m)" ]; then libraries='' toolchain=''
  else libraries=$PWD/build/aarch64-root/usr/lib/aarch64-linux-gnu toolchain=-DCMAKE_TOOLCHAIN_FILE=$PWD/cmake/aarch64.cmake
  fi
  {
    # shellcheck disable=SC2086 # an argument or none
    sh cmake/portable.sh "$portable" "$tools/bin/python" "$architecture" $toolchain &&
      (export _PYTHON_HOST_PLATFORM="linux-$architecture" && bare_wheel "$build" "$target-bare" "$tools/bin/python" "$portable") &&
      LD_LIBRARY_PATH=$libraries PATH="$tools/bin:$PATH" "$tools/bin/python" -m auditwheel repair -z 9 -w "$target" "$target-bare"/*.whl
  } >build/python/wheel.log 2>&1 || return 1
  rm -rf "$target-bare"
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
