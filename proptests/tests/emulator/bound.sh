#!/bin/sh
# The bound on paper of the kernels for GPUs, kernels/cuda/bound: no loop of theirs has grown, the page is up to date, the
# command counts an instruction more, and it says what is wrong with its input.
#   bound.sh OBJECTS NVCC      a folder with nvcc's object files; the compiler
set -eu
objects=$1 nvcc=$2
. python/tools.sh
python3 -c '' 2>/dev/null || { echo "skipped: no python3"; exit 77; }
set -- "$objects"/*.o
[ -f "$1" ] || { echo "skipped: no nvcc when this was built"; exit 77; }
cuobjdump=$(cuobjdump_at) || { echo "skipped: no cuobjdump here, and PyPI has none (build/python/pip.log)"; exit 77; }
bound() { python3 kernels/cuda/bound --cuobjdump "$cuobjdump" --nvcc "$nvcc" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp docs/kernels/gpu_bound.md "$work/page.md"
status=0
bound --check kernels/cuda/bound/counts.tsv --page "$work/page.md" "$@" 2>"$work/error" || status=$?
case $status in
  0) ;;
  4) echo "skipped: $(cat "$work/error")"; exit 77 ;;
  *) cat "$work/error"; echo "if the change is worth it, ./run bound records the counts anew"; exit 1 ;;
esac
cmp "$work/page.md" docs/kernels/gpu_bound.md || { echo "the tables are old: ./run bound renews them"; exit 1; }

# One recorded count less than there are: as if the code had grown by an instruction.
awk -F '\t' -v OFS='\t' '$1 == "softmax f32" && $2 == "results" { $5 -= 1; done = 1 } { print } END { exit !done }' \
  kernels/cuda/bound/counts.tsv >"$work/counts.tsv"
if bound --check "$work/counts.tsv" "$objects/row_entry_points.o" >"$work/out"; then echo "growth was not noticed"; exit 1; fi
grep -q '^softmax f32, results: [0-9]* fma instructions, recorded [0-9]*$' "$work/out" || { cat "$work/out"; exit 1; }
