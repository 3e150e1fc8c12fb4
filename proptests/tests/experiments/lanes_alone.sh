#!/bin/sh
# lanes_alone.sh NM OBJECT...: no training lane may hold an inline function that another part of the program could be
# linked to: it may have instructions that the machine lacks. Eigen_LANE is the lane's own.
set -eu
nm=$1
shift
for object; do
  lane=$(echo "$object" | sed 's/.*softcheck_training_\([a-z0-9]*\)\.dir.*/\1/')
  symbols=$("$nm" -C "$object")
  echo "$symbols" | grep -q "T softcheck_training_step_$lane\$" || { echo "$object: no training step"; exit 1; }
  shared=$(echo "$symbols" | grep ' W ' | grep -v "Eigen_$lane::" || true)
  [ -z "$shared" ] || { echo "$object shares"; echo "$shared"; exit 1; }
done
echo "$# lanes share no code"
