#!/bin/sh
# The tests of the command, short ones first, until one fails: what ./run mutate asks about a change of cli/.
#   command.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
tests=$(dirname "$0")/..
for test in tokens.txt checkpoints.sh figures.sh readers.sh check.txt check_files.txt lost_output.sh campaign.txt messages.txt model_page.sh \
  networks.txt cli.txt; do
  case $test in
    *.txt) sh "$tests/transcripts/run.sh" "$1" "$2" "$tests/transcripts/$test" ;;
    *) sh "$tests/build/$test" "$1" "$2" ;;
  esac
  status=$?
  test $status = 0 || test $status = 77 || { echo "$test: exit $status"; exit 1; }
done
