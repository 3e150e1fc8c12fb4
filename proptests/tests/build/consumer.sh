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
  'expected 0x1p+0' 'replay: softcheck::conforms(kernel, "softmax f32", {.replay = "Kernel'
fails SoftmaxThatCrashes 'Actual: false (crash: kernel.returns' 'ended by signal 4'
