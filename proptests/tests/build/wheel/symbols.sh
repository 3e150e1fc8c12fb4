#!/bin/sh
# symbols.sh SITE: softcheck's own files in SITE ask for no glibc newer than 2.28.
set -eu
for file in "$1"/softcheck/lib/libsoftcheck.so "$1"/softcheck/bin/softcheck "$1"/softcheck/lib/softcheck/*.so; do
  newest=$(readelf -V "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
  echo "$newest is the newest symbol of ${file#"$1/"}"
  [ "$(printf '%s\n' "$newest" GLIBC_2.28 | sort -V | tail -n 1)" = GLIBC_2.28 ] || { echo "need at most GLIBC_2.28"; exit 1; }
done
