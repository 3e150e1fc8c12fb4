#!/bin/sh
# The table of the zoo has the rows that stand above its kernels: a row for each dtype, lines that go on, the dtype's own
# accumulator. A kernel without a row, a row without a kernel and an unknown part are errors that name the file.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'library\tsymbol\top\n' >"$work/shipped.tsv"
mkdir "$work/bugs" "$work/intruders"
cat >"$work/bugs/rows.cpp" <<'TEXT'
// A comment.
// @judged softmax f32 f64: exp=1ulp masked=zero; fail C1; AFullyMaskedRowIsAsDeclared; kernel.masked_row|kernel.returns;
// witness >=16; domain n<=4 compact
// @judged entropy f16: acc=f16 sum=tree; pass; require deterministic
SOFTCHECK_MUTANT one(const softcheck_call* call) {
TEXT
printf '// @judged softmax f32: sum=tree; crash exit; P; kernel.returns; effort deep\nSOFTCHECK_MUTANT two(const\n' >"$work/intruders/x.cpp"
table() { awk -f cmake/zoo_table.awk "$work/shipped.tsv" "$@" >"$work/table" 2>"$work/log"; }
table "$work/bugs/rows.cpp" "$work/intruders/x.cpp" || { cat "$work/log"; exit 1; }
tr '\t' '!' <"$work/table" | diff - /dev/fd/3 3<<'ROWS' || { echo "the table has other rows"; exit 1; }
library!symbol!op
softcheck_zoo!one!softmax!f32!acc=f32 exp=1ulp masked=zero!-!fail!C1!AFullyMaskedRowIsAsDeclared!kernel.masked_row|kernel.returns!>=16!-!-!n<=4 compact
softcheck_zoo!one!softmax!f64!acc=f64 exp=1ulp masked=zero!-!fail!C1!AFullyMaskedRowIsAsDeclared!kernel.masked_row|kernel.returns!>=16!-!-!n<=4 compact
softcheck_zoo!one!entropy!f16!acc=f16 sum=tree!deterministic!pass!-!-!-!-!-!-!-
softcheck_intruders!two!softmax!f32!acc=f32 sum=tree!-!crash!exit!P!kernel.returns!-!-!deep!-
ROWS
refused() { # TEXT WHAT: the message names what is wrong
  printf '%s\n' "$1" >"$work/bugs/wrong.cpp"
  if table "$work/bugs/wrong.cpp"; then echo "taken: $1"; exit 1; fi
  grep -q "$2" "$work/log" || { cat "$work/log"; echo "no '$2' in the message"; exit 1; }
  echo "refused, as it should be: $2"
}
refused 'SOFTCHECK_MUTANT three(const softcheck_call*) {' "wrong.cpp: need a line '// @judged"
refused '// @judged softmax f32: sum=tree; pass' 'rows without a kernel'
refused '// @judged softmax f32: sum=tree; pass; domains n<=4
SOFTCHECK_MUTANT four(const softcheck_call*) {' 'need require, witness, exempt, effort or domain'
refused '// @judged softmax f32 sum=tree; pass
SOFTCHECK_MUTANT five(const softcheck_call*) {' 'need OP DTYPE...: CONTRACT'
