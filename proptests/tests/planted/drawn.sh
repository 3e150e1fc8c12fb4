#!/bin/sh
# drawn.sh MUTATE SCRATCH: what mutate draws of a source, that it is the same each time, and what it refuses.
set -eu
mutate=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch/theory/bench"
cat >"$scratch/theory/a.cpp" <<'END'
#include <vector>  // a < b
/* x == y */
std::vector<int> f(int a, bool b) {
  const char* text = "a < b && 7";
  int c = a < 1'000 ? a * 2 : a;
  if (b && a != 0x10) ++c;
  c += 1.5;
  g(c);
  return {std::max(c, 3), 'a' == '"'};
}
END
cp "$scratch/theory/a.cpp" "$scratch/theory/bench/b.cpp"
printf '%s\n' \
  'int c = a < 1'"'"'000 ? a * 2 : a;	int c = a <= 1'"'"'000 ? a * 2 : a;' \
  'int c = a < 1'"'"'000 ? a * 2 : a;	int c = a < 1'"'"'000 ? a / 2 : a;' \
  'int c = a < 1'"'"'000 ? a * 2 : a;	int c = a < 1'"'"'000 ? a * 3 : a;' \
  'if (b && a != 0x10) ++c;	if (b || a != 0x10) ++c;' \
  'if (b && a != 0x10) ++c;	if (b && a == 0x10) ++c;' \
  'if (b && a != 0x10) ++c;	if (b && a != 0x10) --c;' \
  'c += 1.5;	c -= 1.5;' \
  'c += 1.5;	;' \
  'g(c);	;' \
  "return {std::max(c, 3), 'a' == '\"'};	return {std::min(c, 3), 'a' == '\"'};" \
  "return {std::max(c, 3), 'a' == '\"'};	return {std::max(c, 4), 'a' == '\"'};" \
  "return {std::max(c, 3), 'a' == '\"'};	return {std::max(c, 3), 'a' != '\"'};" |
  sed 's|^|theory/a.cpp	|' | LC_ALL=C sort >"$scratch/wanted"
list() { "$mutate" ninja "$scratch" "$scratch" "$scratch/work" "$scratch/log" --folder theory --list "$@"; }
list --count 100 >"$scratch/all"
LC_ALL=C sort "$scratch/all" | diff "$scratch/wanted" - || { echo "want the lines behind <"; exit 1; }
list --count 100 | diff "$scratch/all" - || { echo "the same seed drew others"; exit 1; }
list --count 100 --seed 7 | cmp -s "$scratch/all" - && { echo "another seed drew the same order"; exit 1; }
[ "$(list --count 3 | wc -l)" = 3 ] || { echo "--count 3 drew another number"; exit 1; }
for words in '--folder nowhere' '--count many' '--seed' '--counts 3' '--within many' '--within -1' '--within 1s'; do
  status=0
  # shellcheck disable=SC2086 # a list of words
  list $words >"$scratch/output" 2>&1 || status=$?
  [ $status = 2 ] && [ "$(wc -l <"$scratch/output")" = 1 ] || { cat "$scratch/output"; echo "$words: need exit 2 and a line, got $status"; exit 1; }
done
rm -rf "$scratch"
