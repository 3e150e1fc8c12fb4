#!/bin/sh
# The scripts that try the command, one after the other until one fails: what ./run mutate asks about a change of cli/.
#   command.sh SOFTCHECK KERNELS      the command, and the folder of the kernel modules
set -u
here=$(dirname "$0")
for script in messages figures cli lost_output readers tokens model_page check campaign; do
  sh "$here/$script.sh" "$1" "$2"
  status=$?
  test $status = 0 || test $status = 77 || { echo "$script.sh: exit $status"; exit 1; }
done
