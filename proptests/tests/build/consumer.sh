#!/bin/sh
# Installs softcheck into an empty prefix, builds a stranger's project against it and runs the project's own tests: that
# of a right kernel passes, those of the wrong ones fail and say why.
set -eu
cmake=$1 build=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" -S "$(dirname "$0")/consumer" -B "$work/consumer" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix" "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-}"
"$cmake" --build "$work/consumer"
"$work/consumer/consumer"
"$work/consumer/old_header"

suite=$work/consumer/softmax_test
"$suite" --gtest_filter='Softmax.*'
# fails SUITE TEXT...: its test fails, and its message holds each text
fails() {
  name=$1
  shift
  if "$suite" --gtest_filter="$name.*" >"$work/log"; then echo "$name passed"; exit 1; fi
  for text do
    grep -q -e "$text" "$work/log" || { cat "$work/log"; echo "no '$text' in the message of $name"; exit 1; }
  done
}
fails SoftmaxWithoutMaximum 'Actual: false (fail: kernel.softmax.element does not hold on [1-8] logit' \
  'expected 0x1p+0' 'replay: softcheck::conforms(your_kernel, "softmax f32", {.replay = "Kernel'
fails SoftmaxThatCrashes 'Actual: false (crash: kernel.returns' 'ended by signal 4'

# The installed command reads the networks and kernels that were installed with it, not those of the build; so it does where
# vcpkg puts programs.
mkdir -p "$work/prefix/tools/softcheck"
cp "$work/prefix/bin/softcheck" "$work/prefix/tools/softcheck/"
# reads FILE CODE: verify ends with that code, and the message names the file, which is none of its kind
reads() {
  kept=$(find "$work/prefix" -path "*/$1")
  [ -n "$kept" ] || { echo "no $1 is installed"; exit 1; }
  mv "$kept" "$work/kept"
  echo nothing >"$kept"
  for command in bin/softcheck tools/softcheck/softcheck; do
    status=0
    "$work/prefix/$command" verify --cases 1 >"$work/log" 2>&1 || status=$?
    [ "$status" = "$2" ] && grep -q "^softcheck: .*$kept" "$work/log" || { cat "$work/log"; echo "$command: exit $status, need $2, and a line that names $kept"; exit 1; }
  done
  mv "$work/kept" "$kept"
}
reads softcheck/models/seeds/seed-01.safetensors 3
reads softcheck/libsoftcheck_cpu_kernels.so 4
