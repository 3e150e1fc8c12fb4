#!/bin/sh
# kernels/bench/gpu/torch_peers.py as far as it goes without a GPU: the CPU's kernels beside torch's, on small problems.
# And kernels/bench/torch_losses.py and torch_attention.py, on small ones.
set -eu
kernels=$1
python3 -c 'import torch' 2>/dev/null || { echo "skipped: Python's torch is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# torch.compile runs eagerly: its compilations need more than a test may take.
TORCHDYNAMO_DISABLE=1 python3 kernels/bench/gpu/torch_peers.py "$kernels/libsoftcheck_cpu_kernels.so" --device cpu --quick \
  --results "$folder" >"$folder/printed"
[ "$(ls "$folder" | grep -c 'peers-cpu.json$')" = 1 ] || { echo "no results in $(ls "$folder")"; exit 1; }
python3 - "$folder"/*.json "$folder/printed" <<'PYTHON'
import json, sys
report = json.load(open(sys.argv[1]))
groups = {group["problem"]: group for group in report["groups"]}
printed = open(sys.argv[2]).read()
for op in ("softmax", "entropy", "adaptive softmax", "cross entropy", "cross entropy backward"):
    for of in ("64 x 128 float32", "8 x 4096 float32", "64 x 128 bfloat16", "8 x 4096 bfloat16"):
        group = groups[f"{op} {of}"]
        assert len(group["seconds"]["ours"]) == 3, group
        # Is it the same function? A probability in bf16 is off by an ulp of at most 2^-8; in f32, and entropies below 16,
        # by some sums' roundings, four ulps of 2^-20 together. Losses are below 64: four times as much; torch rounds them to
        # bf16, by 2^-3. A gradient in bf16 is at most 1.
        unit = 2**-8 if "bfloat16" in of and op != "entropy" else 2**-18
        if op == "cross entropy":
            unit = 2**-3 if "bfloat16" in of else 2**-16
        assert group["largest difference"] and all(d <= unit for d in group["largest difference"].values()), group
        assert f"{op} {of}" in printed
assert any("attention" in name for name in groups)
PYTHON
if python3 kernels/bench/gpu/torch_peers.py "$kernels/nothing.so" --device cpu 2>"$folder/error"; then exit 1; fi
grep -q "needs the library of our kernels, got" "$folder/error"
if python3 kernels/bench/gpu/torch_peers.py README.md --device cpu 2>"$folder/error"; then exit 1; fi
grep -q "needs the library of our kernels for cpu" "$folder/error"

if python3 -c 'import numpy' 2>/dev/null; then
  losses() { SOFTCHECK_LIBRARY="$kernels/../libsoftcheck.so" PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python3 kernels/bench/torch_losses.py "$@"; }
  losses "$kernels/libsoftcheck_cpu_kernels.so" --quick >"$folder/printed"
  # Is it the same function? 1e-5 is five ulps of a loss below 32, 1e-6 some sixty roundings of a quarter, which is what each
  # of four rows counts for.
  grep -qE '^ +4 x +257 .*torch / ours +[0-9.]+ +apart: loss ([0-9.]+e-(0[6-9]|1[0-9])|0\.0e\+00), gradient ([0-9.]+e-(0[7-9]|1[0-9])|0\.0e\+00)$' \
    "$folder/printed" || { cat "$folder/printed"; exit 1; }
  if losses "$kernels/nothing.so" 2>"$folder/error"; then exit 1; fi
  grep -q 'torch_losses.py: .*nothing.so' "$folder/error"
  if losses 2>"$folder/error"; then exit 1; fi
  grep -q 'need the path' "$folder/error"

  attention() { SOFTCHECK_LIBRARY="$kernels/../libsoftcheck.so" PYTHONPATH=python PYTHONDONTWRITEBYTECODE=1 python3 kernels/bench/torch_attention.py "$@"; }
  attention "$kernels/libsoftcheck_cpu_kernels.so" --quick >"$folder/printed"
  # Is it the same function? Outputs are means of normal numbers, below 4, and gradients of 96 of them below 16: 1e-5 is
  # some forty roundings of either.
  for line in 'forward full  ' 'forward causal' 'backward full  ' 'backward causal'; do
    [ "$(grep -cE "^$line n +96 d +(64|128) .* apart ([0-9.]+e-(0[6-9]|1[0-9])|0\.0e\+00)$" "$folder/printed")" = 2 ] ||
      { cat "$folder/printed"; exit 1; }
  done
  for line in 'adaptive full' 'decode n' 'formats causal'; do
    grep -q "^$line" "$folder/printed" || { cat "$folder/printed"; exit 1; }
  done
  # In bf16 both round weights, by 2^-8 of numbers below 4, and outputs, by 2^-7 there: 2 (2^-6 + 2^-7) = 0.047.
  for line in 'tiles full  ' 'tiles causal'; do
    [ "$(grep -cE "^$line n +96 d +(64|128) .*( apart ([0-4]\.[0-9]e-02|[0-9.]+e-0[3-9]|0\.0e\+00)| refused.*)$" "$folder/printed")" = 2 ] ||
      { cat "$folder/printed"; exit 1; }
  done
  if attention "$kernels/nothing.so" 2>"$folder/error"; then exit 1; fi
  grep -q 'torch_attention.py: .*nothing.so' "$folder/error"
  if attention "$kernels/libsoftcheck_cpu_kernels.so" --only sideways 2>"$folder/error"; then exit 1; fi
  grep -q 'takes some of forward' "$folder/error"
fi
