#!/bin/sh
# contract_tables.sh [--check]: writes the tables of kernels/entry/contracts.tsv into the pages. A table stands between
# `<!-- contracts: LIBRARIES -->`, a regular expression, and `<!-- end -->`. --check only fails where a page is not current.
set -eu
cd "$(dirname "$0")/.."
new=$(mktemp) stale=0
trap 'rm -f "$new"' EXIT
for page in kernels/README.md docs/kernels/gpu_kernels.md; do
  awk '
    /^<!-- end -->$/ { inside = 0 }
    !inside { print }
    /^<!-- contracts: .* -->$/ {
      inside = ++tables
      print_table = "awk -v as=page -v of=\"" $3 "\" -f cmake/kernel_contracts.awk kernels/abi/softcheck_kernel.h kernels/entry/contracts.tsv"
      while ((print_table | getline line) > 0) { print line; ++rows }
      close(print_table)
    }
    END { exit !(tables && rows > 2 * tables && !inside) }' "$page" >"$new" ||
    { echo "contract_tables: need '<!-- contracts: LIBRARIES -->' and '<!-- end -->' in $page, and kernels of theirs" >&2; exit 1; }
  if cmp -s "$new" "$page"; then continue; fi
  if [ "${1:-}" = --check ]; then
    diff "$page" "$new" || true
    echo "contract_tables: $page is not of kernels/entry/contracts.tsv: sh cmake/contract_tables.sh" >&2
    stale=1
  else
    cat "$new" >"$page"
  fi
done
exit $stale
