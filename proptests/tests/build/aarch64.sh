#!/bin/sh
# aarch64.sh BUILD: ./run aarch64. The cross build verifies under qemu and passes its quick tests, its kernels' bits are those of BUILD,
# and a guard that leaves one field of FPCR as it finds it is noticed.
set -eu
cd "$(dirname "$0")/../../.."
build=$1
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: the build for aarch64 is made by ./run test --deep"; exit 77; }
for command in aarch64-linux-gnu-g++ qemu-aarch64 apt-get; do
  command -v $command >/dev/null 2>&1 || { echo "Skipped: no $command"; exit 77; }
done
fail() { echo "aarch64: $*"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

unset SOFTCHECK_EFFORT # the quick tests are quick
./run aarch64 verify >"$work/log" 2>&1 || { tail -n 20 "$work/log"; fail "verify does not hold"; }
tail -n 1 "$work/log" | grep '^pass' || fail "verify does not say pass"
./run aarch64 test >"$work/log" 2>&1 || { tail -n 40 "$work/log"; fail "a quick test fails"; }
tail -n 40 "$work/log" | grep 'tests passed'

# Our kernels: NEON's bits are those of x86-64 with FMA, and a set without FMA has others, which shows that the comparison sees one fma.
cc -std=c11 -O1 -I. proptests/tests/build/aarch64/bits.c -o "$work/here" -ldl
aarch64-linux-gnu-gcc --sysroot="$PWD/build/aarch64-root" -std=c11 -O1 -I. proptests/tests/build/aarch64/bits.c -o "$work/there" -ldl
bits_here() { "$work/here" "$build/kernels/libsoftcheck_$1_kernels.so" "$2"; }
for kernels in 'strict softcheck_strict' 'cpu softcheck'; do
  # shellcheck disable=SC2086 # the library and its prefix
  set -- $kernels
  bits_here "$@" >"$work/bits"
  qemu-aarch64 -L build/aarch64-root "$work/there" "build/aarch64/kernels/libsoftcheck_$1_kernels.so" "$2" | diff "$work/bits" - || fail "other bits"
  echo "$1: $(wc -l <"$work/bits") calls have the same bits"
done
if [ "$(uname -m)" = x86_64 ] && SOFTCHECK_MAX_ISA=ssse3 bits_here cpu softcheck | cmp -s "$work/bits" -; then fail "bits without FMA are the same"; fi

# g++ contracts products and sums to an fma on aarch64 unless it is told not to: each command says so.
python3 - build/aarch64/compile_commands.json <<'END' || fail "a source is compiled with contraction"
import json, sys
wrong = [c["file"] for c in json.load(open(sys.argv[1])) if "-ffp-contract=off" not in c["command"]]
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(bool(wrong))
END

# A control: the guard as it is, and one that clears FZ and the rounding mode but not FZ16.
guard() { # TEXT REPLACEMENT: the exit status of a program with such a guard
  mkdir -p "$work/numerics/formats"
  cp numerics/formats/fp_environment.hpp "$work/numerics/formats/"
  sed "s/$1/$2/" numerics/formats/fp_environment.cpp >"$work/numerics/formats/fp_environment.cpp"
  aarch64-linux-gnu-g++ -std=c++20 -static -I "$work" proptests/tests/build/aarch64/guard.cpp -o "$work/guard"
  qemu-aarch64 "$work/guard"
}
guard 'set_fpcr(0)' 'set_fpcr(0)' || fail "the guard does not clear FPCR"
grep -q 'set_fpcr(0)' numerics/formats/fp_environment.cpp || fail "the control changes nothing: there is no set_fpcr(0)"
if guard 'set_fpcr(0)' 'set_fpcr(fpcr() \& 0x80000)'; then fail "a guard that leaves FZ16 was not noticed"; fi
echo "verified, tested and controlled on aarch64"
