#!/bin/sh
# A real checkpoint is certified: all-MiniLM-L6-v2, where ./run models has fetched it. Skipped without.
#
# The spreads are those of an independent evaluation in NumPy (the exact maximum over the ellipsoid by its dual):
# 140.23 to 1723.75, median 238.22; the largest |q . k| is 4899.5.
set -eu
softcheck=$1
model=build/models/all-MiniLM-L6-v2
[ -f $model/model.safetensors ] || { echo "skipped: no $model (./run models fetches it)"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$softcheck" model $model --json "$work/report.json" --fail-if 'score.f16 > 65504' >"$work/out" || { cat "$work/out"; exit 1; }
status=0
"$softcheck" model $model --fail-if 'spread.best > 1723' >"$work/out" || status=$?
[ $status = 1 ] || { echo "a spread of 1723.75 passes 'spread.best > 1723': exit $status"; exit 1; }
grep -q 'head 0.2: spread.best > 1723' "$work/out"
python3 - "$work/report.json" <<'PYTHON'
import json, sys

report = json.load(open(sys.argv[1]))
assert report["model"]["architecture"] == "bert" and report["model"]["heads"] == 72 == len(report["heads"])
best = sorted(head["spread"]["best"] for head in report["heads"])
for (lower, upper), shown in ((best[0], 140.23), (best[36], 238.22), (best[-1], 1723.75)):
    assert lower <= upper and round(lower, 2) == round(upper, 2) == shown, (lower, upper, shown)
assert round(max(head["score"][1] for head in report["heads"]), 1) == 4899.5
assert all(head["spread"]["best"][0] >= 0.999 * head["spread"]["best"][1] for head in report["heads"])
PYTHON

# README shows lines of this output: each stands in it, in this order; the seconds are another machine's.
seconds='s/[0-9.]* s,/... s,/'
"$softcheck" model $model --fail-if 'logit.f16 > 65504' | sed "$seconds" >"$work/all"
awk '/^\$ softcheck model all-MiniLM-L6-v2 / { on = 1; next } /^```/ { on = 0 } on && $0 != "..."' README.md | sed "$seconds" >"$work/shown"
[ "$(wc -l <"$work/shown")" -ge 3 ] || { echo "README shows no lines of softcheck model"; exit 1; }
grep -nFxf "$work/shown" "$work/all" | cut -d: -f2- | cmp - "$work/shown" || { echo "README's lines are not those of softcheck model"; cat "$work/all"; exit 1; }
