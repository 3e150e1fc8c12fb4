#!/bin/sh
# kernels/entry/contracts.tsv: its rows are a row for each kernel and dtype; the pages have its tables; a row that cannot
# be read is an error that names the line.
set -eu
sh cmake/contract_tables.sh --check
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$work/kernels/entry/contracts.tsv
abi=kernels/abi/softcheck_kernel.h
mkdir -p "$work/cmake" "$work/kernels/entry" "$work/kernels/abi" "$work/docs/kernels"
cp cmake/kernel_contracts.awk cmake/contract_tables.sh "$work/cmake"
cp $abi "$work/kernels/abi"
cp kernels/README.md "$work/kernels"
cp docs/kernels/gpu_kernels.md "$work/docs/kernels"

sed 's/sum=blocks:32/sum=blocks:64/' kernels/entry/contracts.tsv >"$list"
if sh "$work/cmake/contract_tables.sh" --check >"$work/log" 2>&1; then echo "a page may have another contract"; exit 1; fi
grep -q 'kernels/README.md is not of' "$work/log" || { cat "$work/log"; exit 1; }
sh "$work/cmake/contract_tables.sh"
sh "$work/cmake/contract_tables.sh" --check
grep -q '`softcheck_softmax`.*blocks:64' "$work/kernels/README.md"
sed -i 's/^<!-- end -->$//' "$work/kernels/README.md"
if sh "$work/cmake/contract_tables.sh" >"$work/log" 2>&1; then echo "a table may have no end"; exit 1; fi

forms() { awk -v as="$1" -f cmake/kernel_contracts.awk $abi "$list" 2>"$work/log" | tr '\t' '!'; }
head -n 1 kernels/entry/contracts.tsv >"$list"
cat >>"$list" <<'TSV'
let	few	exp=1ulp f64:exp=2ulp sum=tree
softcheck_cpu_kernels	softcheck_OP softcheck_OP_x	softmax entropy	f32 (e4m3)	few masked=nan	in-place	-	-	-
softcheck_GPU_kernels	softcheck_GPU_OP	attention	f64 bf16	few weights=DTYPE	-	kernel.returns	n<=4 packed	bf16
TSV
forms rows | sed 1d | diff - /dev/fd/3 3<<'ROWS' || { echo "other rows"; exit 1; }
softcheck_cpu_kernels!softcheck_softmax!softmax!f32!acc=f32 exp=1ulp sum=tree masked=nan!in-place!pass!-!-!-!-!-!-!-
softcheck_cpu_kernels!softcheck_entropy!entropy!f32!acc=f32 exp=1ulp sum=tree masked=nan!in-place!pass!-!-!-!-!-!-!-
softcheck_cpu_kernels!softcheck_softmax_x!softmax!f32!acc=f32 exp=1ulp sum=tree masked=nan!in-place!pass!-!-!-!-!-!-!-
softcheck_cpu_kernels!softcheck_entropy_x!entropy!f32!acc=f32 exp=1ulp sum=tree masked=nan!in-place!pass!-!-!-!-!-!-!-
softcheck_emulated_kernels!softcheck_emulated_attention!attention!f64!acc=f64 exp=2ulp sum=tree weights=f64!-!pass!-!-!-!-!kernel.returns!-!n<=4 packed
softcheck_emulated_kernels!softcheck_emulated_attention!attention!bf16!acc=f32 exp=1ulp sum=tree weights=bf16!-!pass!-!-!-!-!kernel.returns!-!n<=4 packed
softcheck_cuda_kernels!softcheck_cuda_attention!attention!f64!acc=f64 exp=2ulp sum=tree weights=f64!-!pass!-!-!-!-!kernel.returns!-!n<=4 packed
softcheck_cuda_kernels!softcheck_cuda_attention!attention!bf16!acc=f32 exp=1ulp sum=tree weights=bf16!-!pass!-!-!-!-!kernel.returns!-!n<=4 packed
ROWS
forms inc | sed -n '2p;$p' | diff - /dev/fd/3 3<<'ROWS' || { echo "other initializers"; exit 1; }
{"softcheck_cpu_kernels", "softcheck_softmax", "softmax", "e4m3", "exp=1ulp sum=tree masked=nan", "", "", false},
{"softcheck_cuda_kernels", "softcheck_cuda_attention", "attention", "bf16", "exp=1ulp sum=tree weights=bf16", "kernel.returns", "n<=4 packed", true},
ROWS
refused() { # ROW WHAT
  head -n 1 kernels/entry/contracts.tsv >"$list"
  printf '%b\n' "$1" >>"$list"
  if awk -v as=rows -f cmake/kernel_contracts.awk $abi "$list" >"$work/rows" 2>"$work/log"; then echo "taken: $1"; exit 1; fi
  grep -q "$2" "$work/log" || { cat "$work/log"; echo "no '$2' in the message"; exit 1; }
}
refused 'a\tb\tsoftmax\tf32\tsum=tree\t-\t-\t-' "contracts.tsv:2: need 9 columns, got 8"
refused 'a\tb\tsoftmax\tf32\tmany\t-\t-\t-\t-' "contracts.tsv:2: no 'let' names 'many'"
