#!/bin/sh
# The table of the zoo has the rows that stand above its kernels: a row for each dtype, lines that go on, the dtype's own
# accumulator, and what a line leaves out. A kernel without a row, a row without a kernel and an unknown part are errors
# that name the file.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'library\tsymbol\top\nsoftcheck_cpu_kernels\tours\nsoftcheck_strict_kernels\tshared\n' >"$work/CONTRACTS.tsv"
mkdir "$work/bugs" "$work/intruders"
cat >"$work/bugs/rows.cpp" <<'TEXT'
// A comment.
// @judged softmax f32 f64: exp=1ulp masked=zero; fail C1; AFullyMaskedRowIsAsDeclared; kernel.masked_row|kernel.returns;
// witness >=16; domain n<=4 compact
// @judged entropy f16: acc=f16 sum=tree; pass; require deterministic
SOFTCHECK_MUTANT one(const softcheck_call* call) {
// @judged softmax bf16: plain; fail C12; ANanLogitMakesItsRowNan
// @judged entropy f32: plain masked=zero theta=before; fail|crash C5; witness 3
BUG(three, each_row) { softmax(row); }
// @judged attention f32: plain; fail sequences; lse|kernel.masked_row; domain packed
// @judged attention f32: plain; fail attributes
// @judged attention f32: plain; timeout C14
// @judged attention f32: plain; vacuous C17
GRADIENT_BUG(four, Real, by_lse(std::size_t i) const) {
// @judged merge_states f16 8bits: plain; pass; require deterministic
CORRECT(five, each_row) {
TEXT
printf '// @judged softmax f32: sum=tree; crash exit; P; kernel.returns; effort deep\nSOFTCHECK_MUTANT two(const\n' >"$work/intruders/x.cpp"
printf '  SOFTCHECK_DTYPE_E4M3 = 10,\n' >"$work/abi.h"
table() { awk -f cmake/zoo_table.awk "$work/abi.h" "$work/CONTRACTS.tsv" "$@" >"$work/table" 2>"$work/log"; }
table "$work/bugs/rows.cpp" "$work/intruders/x.cpp" || { cat "$work/log"; exit 1; }
tr '\t' '!' <"$work/table" | diff - /dev/fd/3 3<<'ROWS' || { echo "the table has other rows"; exit 1; }
library!symbol!op
softcheck_cpu_kernels!ours
softcheck_zoo!one!softmax!f32!acc=f32 exp=1ulp masked=zero!-!fail!C1!AFullyMaskedRowIsAsDeclared!kernel.masked_row|kernel.returns!>=16!-!-!n<=4 compact
softcheck_zoo!one!softmax!f64!acc=f64 exp=1ulp masked=zero!-!fail!C1!AFullyMaskedRowIsAsDeclared!kernel.masked_row|kernel.returns!>=16!-!-!n<=4 compact
softcheck_zoo!one!entropy!f16!acc=f16 sum=tree!deterministic!pass!-!-!-!-!-!-!-
softcheck_zoo!three!softmax!bf16!acc=f32 exp=1ulp sum=sequential masked=nan!-!fail!C12!ANanLogitMakesItsRowNan!kernel.nan_row!-!-!-!-
softcheck_zoo!three!entropy!f32!acc=f32 exp=1ulp sum=sequential masked=zero theta=before!-!fail|crash!C5!EveryValueLiesWithinItsThreshold!kernel.entropy.value|kernel.returns!3!-!-!-
softcheck_zoo!four!attention!f32!acc=f32 exp=1ulp sum=sequential masked=nan!-!fail!sequences!SequencesOfAnyLengthAreComputed!kernel.attention.lse|kernel.masked_row!-!-!-!packed
softcheck_zoo!four!attention!f32!acc=f32 exp=1ulp sum=sequential masked=nan!-!fail!attributes!AttributesAreComputedAsDefined!kernel.attention.output|kernel.attention.lse|kernel.attention.entropy!-!-!-!-
softcheck_zoo!four!attention!f32!acc=f32 exp=1ulp sum=sequential masked=nan!-!timeout!C14!EveryValueLiesWithinItsThreshold!kernel.returns!-!-!-!-
softcheck_zoo!four!attention!f32!acc=f32 exp=1ulp sum=sequential masked=nan!-!vacuous!C17!-!-!-!-!-!-
softcheck_zoo!five!merge_states!f16!acc=f32 exp=1ulp sum=sequential masked=nan!deterministic!pass!-!-!-!-!-!-!-
softcheck_zoo!five!merge_states!e4m3!acc=f32 exp=1ulp sum=sequential masked=nan!deterministic!pass!-!-!-!-!-!-!-
softcheck_intruders!two!softmax!f32!acc=f32 sum=tree!-!crash!exit!P!kernel.returns!-!-!deep!-
ROWS
refused() { # TEXT WHAT: the message names what is wrong
  printf '%s\n' "$1" >"$work/bugs/wrong.cpp"
  if table "$work/bugs/wrong.cpp"; then echo "taken: $1"; exit 1; fi
  grep -q "$2" "$work/log" || { cat "$work/log"; echo "no '$2' in the message"; exit 1; }
  echo "refused, as it should be: $2"
}
refused 'SOFTCHECK_MUTANT six(const softcheck_call*) {' "wrong.cpp: need a line '// @judged"
refused 'CORRECT(nine, each_row) {' "wrong.cpp: need a line '// @judged"
refused '// @judged softmax f32: sum=tree; pass' 'rows without a kernel'
refused '// @judged softmax f32: sum=tree; pass; domains n<=4
BUG(seven, each_row) {' 'need require, witness, exempt, effort or domain'
refused '// @judged softmax f32 sum=tree; pass
SOFTCHECK_MUTANT eight(const softcheck_call*) {' 'need OP DTYPE...: CONTRACT'
