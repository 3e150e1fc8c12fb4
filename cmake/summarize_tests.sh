#!/bin/sh
# summarize_tests.sh CTEST_OUTPUT LAST_TEST_LOG: one closing line of counts, after the reason of every skip. ctest counts
# the Python package's tests as one: those that pytest skipped are counted beside its own.
set -eu
# pytest -rs prints SKIPPED [COUNT] FILE:LINE: REASON
pytest_skips=$(sed -n 's/^SKIPPED \[\([0-9]*\)\] [^ ]* /\1 /p' "$2" 2>/dev/null) || :
awk '/: Skipped$/ { getline reason; count[reason]++ }
     END { for (r in count) printf "skipped %d: %s\n", count[r], r }' "$2" 2>/dev/null || :
echo "$pytest_skips" |
  awk 'NF { n = $1; sub(/^[0-9]+ /, ""); count[$0] += n }
       END { for (r in count) printf "skipped by pytest %d: %s\n", count[r], r }'
grep '^planted bugs, ' "$2" 2>/dev/null || :
awk -v by_pytest="$(echo "$pytest_skips" | awk '{ n += $1 } END { print n + 0 }')" '
     /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
       if ($0 ~ /\*\*\*Skipped/) skipped++
       else if ($0 ~ / Passed +[0-9.]+ sec/) passed++
       else failed++
     }
     END {
       printf "%d passed, %d failed, %d skipped%s\n", passed, failed, skipped, (by_pytest ? " and " by_pytest " by pytest" : "")
     }' "$1"
