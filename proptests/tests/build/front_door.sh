#!/bin/sh
# ./run answers help and refuses what it does not know, without building anything.
set -eu
./run help | grep -q 'usage: ./run VERB'
if ./run no-such-verb >/dev/null 2>&1; then echo "an unknown verb was accepted"; exit 1; else test $? = 2; fi
grep -q './run test' .ci/run
