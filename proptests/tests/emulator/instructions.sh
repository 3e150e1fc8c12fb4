#!/bin/sh
# The loops of the kernels for GPUs have as many instructions, and the kernels as many registers, as recorded.
#   instructions.sh OBJECTS NVCC      a folder with nvcc's object files; the compiler
set -eu
objects=$1 nvcc=$2
. python/tools.sh
python3 -c '' 2>/dev/null || { echo "skipped: no python3"; exit 77; }
set -- "$objects"/*.o
[ -f "$1" ] || { echo "skipped: no nvcc when this was built"; exit 77; }
cuobjdump=$(cuobjdump_at) || { echo "skipped: no cuobjdump here, and PyPI has none (build/python/pip.log)"; exit 77; }
said=$(python3 kernels/cuda/instructions check kernels/cuda/instructions/counts.tsv "$cuobjdump" "$nvcc" "$@" 2>&1) && status=0 || status=$?
echo "$said"
case $status in
  0) ;;
  4) echo "skipped"; exit 77 ;;
  *) echo "if the change is worth it, ./run instructions records the counts anew"; exit 1 ;;
esac
