#!/bin/sh
# The scripts that try the command, short ones first, until one fails: what ./run mutate asks about a change of cli/.
#   command.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
here=$(dirname "$0")
for script in tokens checkpoints figures readers check lost_output campaign messages model_page cli; do
  sh "$here/$script.sh" "$1" "$2"
  status=$?
  test $status = 0 || test $status = 77 || { echo "$script.sh: exit $status"; exit 1; }
done
