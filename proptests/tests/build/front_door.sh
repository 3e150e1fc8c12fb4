#!/bin/sh
# ./run answers help and refuses what it does not know, without building anything.
set -eu
./run help | grep -q 'usage: ./run VERB'
if ./run no-such-verb >/dev/null 2>&1; then echo "an unknown verb was accepted"; exit 1; else test $? = 2; fi
grep -q '^./run test$' .ci/run
grep -q '^./run test --slice ' .ci/run
status=0
said=$(./run test quick 2>&1) || status=$?
case $status$said in 2*"fast, full, proofs"*"'quick'"*) ;; *) echo "run test quick: exit $status, $said"; exit 1 ;; esac
for wrong in '--nonsense' '--results' '--program' '--program README.md'; do
  status=0
  # shellcheck disable=SC2086 # a flag and its value
  said=$(./run gpu $wrong 2>&1) || status=$?
  case $said in *"${wrong%% *}"*) ;; *) echo "run gpu $wrong says: $said"; exit 1 ;; esac
  [ $status = 2 ] || { echo "run gpu $wrong: exit $status"; exit 1; }
done
status=0
said=$(./run instructions now 2>&1) || status=$?
case $status$said in 2*"takes no arguments, got 'now'"*) ;; *) echo "run instructions now: exit $status, $said"; exit 1 ;; esac
status=0
said=$(./run aarch64 now 2>&1) || status=$?
case $status$said in 2*"verify or test, not 'now'"*) ;; *) echo "run aarch64 now: exit $status, $said"; exit 1 ;; esac
