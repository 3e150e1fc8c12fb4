#!/bin/sh
# lanes_alone.sh NM OBJECT...: no lane of a network may hold an inline function that another part of the program could be
# linked to: it may have instructions that the machine lacks. Eigen_LANE is the lane's own.
set -eu
nm=$1
shift
for object; do
  network=$(echo "$object" | sed 's/.*softcheck_\([a-z]*_[a-z0-9]*\)_code\.dir.*/\1/')
  lane=${network#*_}
  symbols=$("$nm" -C "$object")
  echo "$symbols" | grep -q "[DdRr] softcheck_$network\$" || { echo "$object: no lane"; exit 1; }
  shared=$(echo "$symbols" | grep ' W ' | grep -v "Eigen_$lane::" || true)
  [ -z "$shared" ] || { echo "$object shares"; echo "$shared"; exit 1; }
done
echo "$# lanes share no code"
