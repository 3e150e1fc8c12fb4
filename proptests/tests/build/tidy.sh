#!/bin/sh
# clang-tidy with the checks of .clang-tidy, and clang's own warnings, over the libraries and the command.
#
# Nearly all the time goes into headers, so the sources of a folder are read as one unit that includes them. For that
# their names must differ in anonymous namespaces too: what two of them define alike belongs in a header. A source that
# Highway reads once for each SIMD target includes itself and stays alone, and so does one that is linked in place of others.
set -eu
build=$1
here=$(dirname "$0")
command -v clang-tidy >/dev/null 2>&1 || { echo "Skipped: no clang-tidy"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "Skipped: not a git checkout"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tidy="clang-tidy --quiet --config-file=.clang-tidy"
# A third of its own time goes into checks whose cases g++ or clang mostly warn of: -Wfor-loop-analysis, -Wsizeof-pointer-*,
# -Wmemset-*, -Wtautological-*. They are left to a deep run.
if [ "${SOFTCHECK_EFFORT:-}" != deep ]; then
  tidy="$tidy --checks=-bugprone-infinite-loop,-bugprone-sizeof-expression,-bugprone-suspicious-memset-usage,-misc-redundant-expression"
fi

# The checks must fail on a defect in an included source, or what follows says nothing.
mkdir "$work/numerics"
cat >"$work/numerics/planted.cpp" <<'END'
#include <string>
#include <utility>
std::string planted(std::string text) {
  const std::string taken = std::move(text);
  return taken + text;
}
END
echo '#include "numerics/planted.cpp"' >"$work/planted.cpp"
if $tidy "$work/planted.cpp" -- -std=c++20 >"$work/log" 2>&1 ||
  ! grep -q '/planted.cpp:5:.*bugprone-use-after-move' "$work/log"; then
  cat "$work/log"
  echo "a use after a move was not refused"
  exit 1
fi

sh "$here/library_sources.sh" | sed "s|^|$PWD/|" >"$work/sources"
sh "$here/compile_flags.sh" "$build" each |
  awk -F '\t' -v work="$work" -v tidy="$tidy" '
    BEGIN { while ((getline source < (work "/sources")) > 0) left[source] = 1 }
    !($2 in left) { next }
    {
      delete left[$2]
      folder = $2
      sub(/[^\/]*$/, "", folder)
      # Rooms that are read as one.
      if (folder ~ /\/(numerics|proptests\/generators|judge)\// && folder !~ /\/judge\/(exhaustive|results|survivors|campaigns)\//)
        folder = substr(folder, 1, match(folder, /(numerics|proptests\/generators|judge)\//) + RLENGTH - 1)
      alone = program = 0
      while ((getline line < $2) > 0) {
        if (line ~ /foreach_target\.h|^#define Eigen |^\/\/ Linked in place of /) alone = 1
        if (line ~ /^int main\(/) program = 1
      }
      # One source of a folder may have a definition or a folder of headers more than the others: then all of them have it.
      # Flags of code make no difference, as none is made.
      flags = $1
      gsub(/ -[DI][^ ]*| -O[0-9]| -fPIC| -Wno-subobject-linkage/, "", flags)
      key = flags "\t" (alone ? $1 "\t" $2 : folder)
      if (program && programs[key]++) key = key "\t" $2 # a folder may have two
      if (!(key in unit)) {
        unit[key] = work "/unit_" ++units ".cpp"
        command[units] = tidy " " unit[key] " -- " substr(flags, index(flags, " "))
        number[key] = units
      }
      words = split($1, word, " ")
      for (i = 2; i <= words; ++i) if (word[i] ~ /^-[DI]/ && !((key, word[i]) in known)) {
        known[key, word[i]]
        command[number[key]] = command[number[key]] " " word[i]
      }
      print "#include \"" $2 "\"" >unit[key]
    }
    END {
      for (i = 1; i <= units; ++i) print command[i]
      for (source in left) { print "no compile command for " source >"/dev/stderr"; missing = 1 }
      exit missing
    }' >"$work/commands"
[ -s "$work/commands" ] || { echo "no compile commands in $build"; exit 1; }
tr '\n' '\0' <"$work/commands" | xargs -0 -P "$(nproc)" -n 1 sh -c || {
  echo "(A redefinition means that two sources of a folder define one name: say it once, or call it differently.)"
  exit 1
}
echo "$(wc -l <"$work/sources") sources in $(wc -l <"$work/commands") units, nothing found"
