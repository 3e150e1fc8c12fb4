#!/bin/sh
# altered.sh FILE FROM TO: prints FILE with TO in the place of FROM, which must stand in one line of it.
set -eu
from=$2 to=$3 awk '
  { at = index($0, ENVIRON["from"]) }
  at { $0 = substr($0, 1, at - 1) ENVIRON["to"] substr($0, at + length(ENVIRON["from"])); found++ }
  { print }
  END { exit found != 1 }' "$1" || { echo "$1 does not have this once: $2" >&2; exit 1; }
