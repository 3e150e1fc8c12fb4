#!/bin/sh
# Runs terminal sessions and compares what is printed: run.sh SOFTCHECK KERNELS FILE...
#
# A shell runs `$ COMMAND`, with the lines `> ...` that continue it. What it prints to both streams follows, without blank lines.
# `...` stands for any text in a line and, alone, for any lines. The exit code is 0, or N where `# exit N` ends the command.
# Other lines that begin with # are comments. A file's commands share a shell and an empty folder, in which
# zoo.so, intruders.so and cpu.so are kernels; $root is the repository, $program the command.
set -u
root=$PWD
program=$(realpath "$1")
kernels=$2
. "$(dirname "$0")/../build/file_bytes.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"
mkdir "$work/bin"
ln -s "$program" "$work/bin/softcheck"
PATH=$work/bin:$PATH
failures=0
shift 2

# parts/N: command N; N.at: its line; N.exit: its exit code; N.output: what it is to print
parts() {
  awk -v part="$work/parts/" '
    /^\$ / {
      close(part n); close(part n ".output")
      ++n
      print NR >(part n ".at"); close(part n ".at")
      printf "" >(part n ".output")
    }
    /^[$>] / { print substr($0, 3) >(part n) }
    /^[$>] .*# exit [0-7]$/ { print $NF >(part n ".exit"); close(part n ".exit") }
    /^([^$>#]|[$>]$|[$>][^ ])/ { print >(part n ".output") }' "$1"
}

# The first line of OUTPUT that PRINTED does not have in its place; nothing where all are there.
difference() {
  awk '
    function same(line, text, count, i, at, part) {
      count = split(text, part, /\.\.\./)
      if (count == 1) return line == text
      if (substr(line, 1, length(part[1])) != part[1]) return 0
      line = substr(line, length(part[1]) + 1)
      for (i = 2; i < count; ++i) {
        if (!(at = index(line, part[i])) && part[i] != "") return 0
        if (part[i] != "") line = substr(line, at + length(part[i]))
      }
      return length(line) >= length(part[count]) && substr(line, length(line) - length(part[count]) + 1) == part[count]
    }
    NR == FNR { text[++texts] = $0; next }
    NF { line[++lines] = $0 }
    END {
      for (i = j = 1; i <= lines;) {
        if (j <= texts && text[j] == "...") { rest = ++j; from = i }
        else if (j <= texts && same(line[i], text[j])) { ++i; ++j }
        else {
          if (j > most) most = j
          if (!rest) break
          i = ++from
          j = rest
        }
      }
      while (j <= texts && text[j] == "...") ++j
      if (i <= lines || j <= texts) print "  not there: " (most > j ? text[most] : j <= texts ? text[j] : "the end, before " line[i])
    }' "$1" "$2"
}

# The commands of a file, in a shell of its own, whose variables are theirs but for these
session() (
  cd "$work/folder" || exit 1
  for name in zoo intruders cpu_kernels; do ln -s "$kernels/libsoftcheck_$name.so" "${name%_kernels}.so"; done
  _part=0 _failures=0
  while test -e "$work/parts/$((_part += 1))"; do
    cat "$work/parts/$_part.at" >"$work/at"
    eval "$(cat "$work/parts/$_part")" >"$work/printed" 2>&1 </dev/null
    _status=$?
    _expected=$(cat "$work/parts/$_part.exit" 2>/dev/null || echo 0)
    _found=$(difference "$work/parts/$_part.output" "$work/printed")
    test "$_status" = "$_expected" && test -z "$_found" && continue
    printf '%s:%s: $ %s\n' "$1" "$(cat "$work/at")" "$(cat "$work/parts/$_part")"
    test -z "$_found" || echo "$_found"
    test "$_status" = "$_expected" || echo "  exits with $_status, not $_expected"
    tail -n 20 "$work/printed" | sed 's/^/  | /'
    _failures=$((_failures + 1))
  done
  rm "$work/at" && test $_failures = 0
)

for file; do
  rm -rf "$work/parts" "$work/folder"
  mkdir "$work/parts" "$work/folder"
  parts "$file"
  session "$file" || failures=$((failures + 1))
  test ! -e "$work/at" || { echo "$file:$(cat "$work/at"): the session ends here"; failures=$((failures + 1)); }
done
test $failures = 0
