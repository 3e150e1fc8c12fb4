#!/bin/sh
# docs/quick_start.md's C, as it stands there: the kernel is written to softmax.c, the lines below it compile and judge it.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# block LANGUAGE: the first block of that language
block() { awk -v language="$1" '$0 == "```" language && !done { on = 1; next } /^```/ { if (on) done = 1; on = 0 } on' docs/quick_start.md; }
block c >"$work/softmax.c"
block sh >"$work/judge.sh"
grep -q my_softmax "$work/softmax.c" && grep -q 'kernel ./libmine.so:my_softmax' "$work/judge.sh"
export SOFTCHECK="$PWD"
sed -i "s|\"\$SOFTCHECK/build/release/softcheck\"|$build/softcheck|" "$work/judge.sh"
cd "$work"
status=0
sh -eu judge.sh >out || status=$?
[ $status = 1 ] || { cat out; echo "need exit 1, got $status"; exit 1; }
grep -q 'fail: kernel.softmax.element does not hold on 1 logit' out || { cat out; exit 1; }
# And with the maximum subtracted.
sed 's|float sum = 0;|float sum = 0, m = -INFINITY;\n    for (int64_t i = 0; i < n; ++i) m = isnan(x[i]) \|\| x[i] > m ? x[i] : m;|; s|expf(x\[i\])|expf(x[i] - m)|' softmax.c >better.c
mv better.c softmax.c
sh -eu judge.sh >out || { cat out; exit 1; }
