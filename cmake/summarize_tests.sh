#!/bin/sh
# summarize_tests.sh CTEST_OUTPUT LAST_TEST_LOG: one closing line of counts, after the reason of every skip.
set -eu
awk '/: Skipped$/ { getline reason; count[reason]++ }
     END { for (r in count) printf "skipped %d: %s\n", count[r], r }' "$2" 2>/dev/null || :
grep '^planted bugs, ' "$2" 2>/dev/null || :
awk '/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
       if ($0 ~ /\*\*\*Skipped/) skipped++
       else if ($0 ~ / Passed +[0-9.]+ sec/) passed++
       else failed++
     }
     END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$1"
