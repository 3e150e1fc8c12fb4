#!/bin/sh
# What the softcheck command says of a failure: the simplest case, the row, what was expected and got, and why.
#   messages.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
softcheck=$1
mutants=$2/libsoftcheck_mutants.so
. "$(dirname "$0")/command_checks.sh"

# says TEXT: the last command's output holds it
says() { grep -q -e "$1" "$scratch/out" || complain "the output does not say '$1'"; }
says_not() { if grep -q -e "$1" "$scratch/out"; then complain "the output says '$1'"; fi; }

# A usage line reads as the command is typed, and an error names the verb whose flags it speaks of.
expect 0 kernel --help
says '^Usage: softcheck kernel '
expect 0 run train --help
says '^Usage: softcheck run train '
refuses 2 '(softcheck kernel --help lists the flags)' kernel --no-such-flag
refuses 2 '(softcheck run train --help lists the flags)' run train --no-such-flag

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

test "$failures" = 0
