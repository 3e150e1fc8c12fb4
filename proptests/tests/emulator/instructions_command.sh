#!/bin/sh
# kernels/cuda/instructions as a command, with a compiler and a disassembler that only print: growth, exit codes, and one line
# for each wrong input. Then its unit tests, and the faults that they must notice.
set -eu
here=proptests/tests/emulator
python3 -c '' 2>/dev/null && command -v c++filt >/dev/null 2>&1 || { echo "skipped: no python3 or no c++filt"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\necho "Cuda compilation tools, release 13.0, V13.0.88"\n' >"$work/nvcc"
printf '#!/bin/sh\n[ -f "$4$1" ] || { echo "cuobjdump fatal   : not a file with code" >&2; exit 255; }; cat "$4$1"\n' >"$work/cuobjdump"
chmod +x "$work/nvcc" "$work/cuobjdump"
cuobjdump=$work/cuobjdump

fixture() { # FILE OLD NEW REGISTERS: what cuobjdump prints of the unit tests' machine code, changed
  PYTHONPATH=$here python3 -B -c '
import sys
from instructions_test import SOFTMAX, SOFTMAX_F32, assembled, resources
file, old, new, registers = sys.argv[1:]
assert old in SOFTMAX
open(file + "-sass", "w").write(assembled(SOFTMAX_F32, SOFTMAX.replace(old, new)))
open(file + "-res-usage", "w").write(resources(SOFTMAX_F32, registers))' "$work/$1" "$2" "$3" "$4"
}
says() { # STATUS TEXT VERB COUNTS OBJECT: exits so, and says so; an error in one line
  status=0
  python3 kernels/cuda/instructions "$3" "$work/$4" "$cuobjdump" "$work/nvcc" "$work/$5" >"$work/out" 2>"$work/error" || status=$?
  [ $status = "$1" ] || { echo "exit code $status, expected $1: $*"; cat "$work/out" "$work/error"; exit 1; }
  cat "$work/out" "$work/error" | grep -q -e "$2" || { echo "'$2' was not said:"; cat "$work/out" "$work/error"; exit 1; }
  [ "$1" -lt 3 ] || [ "$(wc -l <"$work/error")" = 1 ] || { cat "$work/error"; exit 1; }
}

add='FADD R10, R9, R10;'
fixture right "$add" "$add" 79
fixture slower "$add" "$add$add" 79
fixture registers "$add" "$add" 80
fixture indirect "$add" 'BRX R2 -0x10;' 79
cat "$work/right-sass" "$work/right-sass" >"$work/double-sass"
cp "$work/right-res-usage" "$work/double-res-usage"
says 0 'counts.tsv: 1 kernels recorded' record counts.tsv right
grep -q "^softmax f32	79	0	4.8	statistics 12/4, results 7/4$" "$work/counts.tsv" || { cat "$work/counts.tsv"; exit 1; }
says 0 '^1 kernels, 0 lines that differ' check counts.tsv right
says 1 '^softmax f32	79	0	5.0	statistics 13/4, results 7/4	(now)$' check counts.tsv slower
says 1 '^softmax f32	80	0	.*(now)$' check counts.tsv registers

says 2 'check|record FILE' compare counts.tsv right
says 3 'not a file with code' check counts.tsv nothing.o
says 3 'softmax f32: an indirect branch at 0x[0-9a-f]*: BRX' check counts.tsv indirect
says 3 'a second kernel named softmax f32' check counts.tsv double
says 3 'nothing.tsv' check nothing.tsv right
sed 's/V13.0.88/V12.9.1/' "$work/counts.tsv" >"$work/older.tsv"
says 4 "begins with '# compiler: V12.9.1', this is nvcc V13.0.88" check older.tsv right
cuobjdump=$work/nothing
says 4 'nothing: No such file' check counts.tsv right

python3 -B $here/instructions_test.py
python3 -B $here/instructions_planted.py $here/instructions_planted.tsv "$PWD/kernels/cuda/instructions"
