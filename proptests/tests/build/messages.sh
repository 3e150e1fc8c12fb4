#!/bin/sh
# What the softcheck command says of a failure: the simplest case, the row, what was expected and got, and why.
#   messages.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_zoo.so
. "$(dirname "$0")/command_checks.sh"

# A usage line reads as the command is typed, and an error names the verb whose flags it speaks of.
answers 0 '^Usage: softcheck kernel ' kernel --help
answers 0 '^Usage: softcheck run train ' run train --help
refuses 2 "run: need survivors, .*table-1.* or train-language, got 'nope' (softcheck run --help" run nope --out x
refuses 2 'not expected: nope (softcheck run survivors ' run survivors nope

# A flag that its verb does not have: the flag, the verb, the nearest of its flags if one is near, and where they are listed.
unknown() { # NEAREST VERB...: for the verb with --no-such-flag and, unless NEAREST is -, with that flag less its last letter
  nearest=$1
  shift
  refuses 2 "$*: need a flag of its own, got '--no-such-flag' (softcheck $* --help lists the flags)$" "$@" --no-such-flag 3
  test "$nearest" = - && return
  refuses 2 "$*: need a flag of its own, as $nearest, got '${nearest%?}' (softcheck $* --help lists the flags)$" "$@" "${nearest%?}=3"
}
unknown - test
unknown --effort kernel
unknown --layers model
unknown --quick verify
unknown --processes campaign
unknown --out campaign merge
unknown --help run
unknown --seed run survivors
unknown --steps run train # a flag that it requires is missing, too
unknown --results report
unknown --help version
refuses 2 'kernel: need a flag of its own, as --effort, got .--efort.' kernel --efort quick "$mutants:correct_two_pass"
refuses 2 'need a verb before its flags, got .--effort. (softcheck VERB --help lists the flags)$' --effort quick kernel

# A claim that a kernel is known to break is noted, not judged; one that does not exist is a wrong call.
expect 1 kernel "$mutants:mutant_nan_swallowed" --effort quick
expect 0 kernel "$mutants:mutant_nan_swallowed" --effort quick --exempt kernel.nan_row
says '^ *exempt, and so not judged: kernel.nan_row$'
says '^ *does not hold, as known: kernel.nan_row$'
says '^pass (exempt: kernel.nan_row): '
expect 1 kernel "$mutants:mutant_no_max_shift" --effort quick --exempt kernel.nan_row --exempt kernel.infinite_row
says 'replay: .* --exempt kernel.infinite_row --exempt kernel.nan_row --replay '
expect 0 kernel --exempt kernel.nan_row "$mutants:mutant_nan_swallowed" --effort quick
refuses 2 '--exempt: need one of .*kernel.softmax.row_sum.*, got .kernel.nan.' kernel "$mutants:correct_two_pass" --exempt kernel.nan
refuses 2 '--exempt: need one of .*kernel.entropy.value' kernel "$mutants:correct_two_pass" --op entropy --exempt kernel.softmax.element
refuses 2 '--exempt' kernel "$mutants:correct_two_pass" --exempt

# A failure is told by the property that asks the least, on the row that failed, whatever found it.
expect 1 kernel "$mutants:mutant_exp_argument_clamped" --effort quick
says '^ *Kernel.EveryValueLiesWithinItsThreshold fails on [1-8] logits$'
says '^ *got      0x0p+0 (0)$' # where 0.5 is due; a result of another kind has a counterexample of its own
says '^ *Kernel.AMaskedItemIsADeletedOne fails on [1-8] logits$'
says '^ *also fails: Kernel.AFullyMaskedRowIsAsDeclared on [0-9]* logits, .* on [0-9]* logits$'
says_not 'Kernel.LayoutsAndNeighboursDoNotMatter' # it shrinks to the same row
says_not 'Kernel.EarlierCallsDoNotMatter'         # its calls fail alone, too
answers 1 ' row [0-9]* of [0-9]* item=[0-9]*$' kernel "$mutants:mutant_row_index_in_8_bits" --effort quick

# A NaN that did not reach its row: what was got in its place.
expect 1 kernel "$mutants:mutant_nan_swallowed" --effort quick --json "$scratch/report.json"
says '^ *expected NaN$'
says '^ *got      -*0x'
holds "$scratch/report.json" '"due": "NaN"'

# The last lines that a kernel printed, with nothing in them that moves the reader's cursor.
expect 6 kernel "$mutants:mutant_explains_its_death" --effort quick
says '^ *| .x1b.31mValueError: expected row .x07$'
says '^ *ended by signal 6'
printf '#include <stdio.h>\n#include <stdlib.h>\n__attribute__((constructor)) void begin(void) { fputs("no licence\\n", stderr); abort(); }\n' \
  >"$scratch/aborting.c"
"${CC:-cc}" -shared -fPIC -o "$scratch/aborting.so" "$scratch/aborting.c" || complain "no C compiler"
refuses 6 'died while loading: signal 6.*; it printed: no licence$' kernel "$scratch/aborting.so:f"

test "$failures" = 0
