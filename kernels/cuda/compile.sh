#!/bin/sh
# compile.sh LOG COMMAND...: runs a compiler and keeps what it says, registers and spills of each kernel, in LOG.
set -eu
log=$1
shift
"$@" >"$log.new" 2>&1 || { cat "$log.new"; exit 1; }
mv "$log.new" "$log"
