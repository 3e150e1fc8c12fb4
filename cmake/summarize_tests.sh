#!/bin/sh
# summarize_tests.sh CTEST_OUTPUT LAST_TEST_LOG: one closing line of counts, after the reason of every skip and the last lines
# of every failed test: whoever sees no more than the end of a log sees what went wrong. ctest counts the Python package's
# tests as one: those that pytest skipped are counted beside its own.
set -eu
# pytest -rs prints SKIPPED [COUNT] FILE:LINE: REASON
pytest_skips=$(sed -n 's/^SKIPPED \[\([0-9]*\)\] [^ ]* /\1 /p' "$2" 2>/dev/null) || :
awk '/: Skipped$/ { getline reason; count[reason]++ }
     END { for (r in count) printf "skipped %d: %s\n", count[r], r }' "$2" 2>/dev/null || :
echo "$pytest_skips" |
  awk 'NF { n = $1; sub(/^[0-9]+ /, ""); count[$0] += n }
       END { for (r in count) printf "skipped by pytest %d: %s\n", count[r], r }'
grep '^planted bugs, ' "$2" 2>/dev/null || :
awk -v lines=12 '
     NR == FNR {
       if (/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ && !/\*\*\*Skipped| Passed +[0-9.]+ sec/) { sub(/^[^:]*: +/, ""); failed[$1] }
       next
     }
     / Testing: / { name = $3; n = 0 }
     name in failed && /^<end of output>$/ {
       print name " failed; the last lines that it printed:"
       for (i = (n > lines ? n - lines : 0); i < n; i++) print "  " printed[i % lines]
     }
     { printed[n++ % lines] = substr($0, 1, 400) }' "$1" "$2" 2>/dev/null || :
awk -v by_pytest="$(echo "$pytest_skips" | awk '{ n += $1 } END { print n + 0 }')" '
     /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
       if ($0 ~ /\*\*\*Skipped/) skipped++
       else if ($0 ~ / Passed +[0-9.]+ sec/) passed++
       else failed++
     }
     END {
       printf "%d passed, %d failed, %d skipped%s\n", passed, failed, skipped, (by_pytest ? " and " by_pytest " by pytest" : "")
     }' "$1"
