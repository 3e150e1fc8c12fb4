#!/bin/sh
# additions.sh count   no addition of an op, a dtype or a contract word (proptests/tests/additions/) touches too many files
# additions.sh         all three are added to a copy of the tree, which is built and judges kernels and results by each
set -eu
additions=proptests/tests/additions
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
kernels='correct/softmax.cpp bugs/rows_arithmetic.cpp' # those with rows of 8bits
for kernel in $kernels; do [ -f "kernels/zoo/$kernel" ] || { echo "no kernels/zoo/$kernel"; exit 1; }; done
if [ "${1:-}" = count ]; then exec python3 $additions/additions.py count; fi
. python/tools.sh
python_tools build/python/test test pages || { echo "skipped: no virtual environment with the pinned packages (build/python/pip.log)"; exit 77; }
folder=$PWD/build/slices/additions
python3 $additions/additions.py tree "$folder/tree"
# -O0 takes g++ a third of the time that -O3 takes it.
cmake -S "$folder/tree" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DSOFTCHECK_UNITY=24 \
  -DSOFTCHECK_BUILD_TESTS=OFF -DSOFTCHECK_BUILD_BENCHMARKS=OFF
cmake --build "$folder/build" --target softcheck softcheck_library
kernels="correct/scaled_sum.cpp bugs/scaled_sum.cpp $kernels"
echo "$kernels" >"$folder/kernels.txt"
cd "$folder/tree/kernels/zoo"
# shellcheck disable=SC2086 # a list of sources
c++ -std=c++20 -O1 -fPIC -shared -I "$folder/tree" $kernels -o "$folder/libadditions.so"
cd - >/dev/null
SOFTCHECK_LIBRARY=$folder/build/libsoftcheck.so PYTHONPATH=$folder/tree/python PYTHONDONTWRITEBYTECODE=1 \
  build/python/test/bin/python $additions/judge_additions.py "$folder"
