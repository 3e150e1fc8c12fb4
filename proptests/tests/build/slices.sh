#!/bin/sh
# ./run test --slice: wrong arguments get one line, a slice ends as the checks in it did, and one that its time cuts fails for
# no more than what failed until then. In place of the builds and of ctest stands a program that does as $answer says.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "slices: $*"; exit 1; }

count=$(./run test --slices | wc -l)
[ "$count" -gt 20 ] || fail "$count slices"
./run test --slices | cut -d ' ' -f 2- | sort | uniq -d | grep . && fail "a slice stands twice in the list"
for wrong in '' 0/$count 1 1/ /$count 1/$((count + 1)) $((count + 1))/$count 01/$count x/$count 1/$count/1 -1/$count "1/$count 1 1" "1/$count soon"; do
  status=0
  # shellcheck disable=SC2086 # a slice and its seconds
  ./run test --slice $wrong >"$work/out" 2>&1 || status=$?
  [ $status = 2 ] && [ "$(wc -l <"$work/out")" = 1 ] && grep -q -e '--slice' "$work/out" || fail "'$wrong': exit $status, $(cat "$work/out")"
done

mkdir "$work/bin" "$work/tree" "$work/tree/cmake"
cp cmake/slices.sh "$work/tree/cmake"
for program in cmake ctest ninja; do printf '#!/bin/sh\n%s\n' "echo 'a.o: CXX_COMPILER of $program'; eval \"\$answer\"" >"$work/bin/$program"; done
chmod +x "$work/bin"/*
said() { # STATUS LINE ANSWER [K [SECONDS]]: the exit status and the last line of a slice, which must have been named first
  (cd "$work/tree" && answer=$3 PATH="$work/bin:$PATH" sh cmake/slices.sh run "${4:-1}/$count" "${5:-60}") >"$work/out" 2>&1 && status=0 || status=$?
  [ $status = "$1" ] && tail -n 1 "$work/out" | grep -q "^slice ${4:-1}/$count: [a-z].*: $2" &&
    head -n 1 "$work/out" | grep -q "^slice ${4:-1}/$count: [a-z]" || fail "'$3': exit $status, $(cat "$work/out")"
}
said 0 'passed$' true
said 1 'FAILED, exit status 3$' 'exit 3'
said 0 'no time left$' true 1 0
said 0 'cut after 1 s, what ran until then passed$' 'echo "1/2 Test #1: A.B ....   Passed"; sleep 30' 1 1
for line in '1/2 Test #1: A.B ....***Failed 0.1 sec' '7: SURVIVED  a_seeded_fault: why'; do
  said 1 'failed before its time was up$' "echo '$line'; sleep 30" 1 4
done
# Every kind of slice runs: what it calls is there.
./run test --slices | awk '!seen[$2]++ && $2 !~ /aarch64/ { print $1 }' | cut -d / -f 1 >"$work/kinds"
while read -r slice; do said 0 'passed$' true "$slice"; done <"$work/kinds"
echo "$count slices, $(wc -l <"$work/kinds") kinds tried"
