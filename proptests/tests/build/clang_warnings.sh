#!/bin/sh
# clang reads the sources of this build with the same flags; a warning is an error. A plain run leaves tests and planted
# bugs to SOFTCHECK_EFFORT=deep and the workflow's job compilers, and what tidy.sh reads to that, where clang-tidy is:
# it has clang's warnings, too.
#
# Nearly all the time goes into headers that are not ours: those that sources include, themselves or by our headers, are
# precompiled, once for all whose flags are the same but for our own folders and definitions. A source that forgets one of
# these may pass here, but not g++, which builds it without. Sources of a library are read a folder at a time, one behind
# the other in one file, as tidy.sh does: not included, for clang says less of what is unused in an included file. So are
# sources that CMake hands to g++ some at a time, and the checks that a header stands alone, which g++ makes one by one:
# here they are for warnings in headers that no source includes.
set -eu
build=$1
here=$(dirname "$0")
command -v clang++ >/dev/null 2>&1 || { echo "Skipped: no clang++"; exit 77; }
work=$(mktemp -d "$build/clang_warnings.XXXXXX")
trap 'rm -rf "$work"' EXIT
sh "$here/library_sources.sh" 2>/dev/null | sed "s|^|$PWD/|" >"$work/library" # none without git: all are read alone
if [ "${SOFTCHECK_EFFORT:-}" != deep ] && command -v clang-tidy >/dev/null 2>&1 && [ -s "$work/library" ]; then
  cp "$work/library" "$work/read_elsewhere"
  others='/tests/|/mutants/|/zoo/|softcheck_zoo\.dir/'
else
  : >"$work/read_elsewhere"
  others='^$'
fi
[ ! -s "$work/read_elsewhere" ] || each=each
sh "$here/compile_flags.sh" "$build" ${each:-} |
  awk -F '\t' -v work="$work" -v others="$others" '
    BEGIN { while ((getline file < (work "/read_elsewhere")) > 0) elsewhere[file] }
    !($2 in elsewhere) && $2 !~ others' |
  awk -F '\t' -v root="$PWD" -v work="$work" '
    BEGIN { while ((getline file < (work "/library")) > 0) library[file] }
    # Adds the system headers that a file reaches to those of a group.
    function collect(group, file, line, name) {
      if ((group, file) in visited) return
      visited[group, file]
      while ((getline line < file) > 0) {
        if (!match(line, /^#include [<"][^.>"]*(\.h|\.hpp|\.cpp)?[>"]/)) continue
        name = substr(line, 10, RLENGTH - 9)
        if (name ~ /^"\//) collect(group, substr(name, 2, length(name) - 2))
        else if (name ~ /^"/) collect(group, root "/" substr(name, 2, length(name) - 2))
        else if (!((group, name) in headers)) {
          headers[group, name]
          printf "#if __has_include(%s)\n#include %s\n#endif\n", name, name >(work "/headers_" group ".hpp")
        }
      }
      close(file)
    }
    # Highway includes such a source again for each SIMD target; a lane of the network has an Eigen of its own name.
    function stands_alone(source, line, found) {
      while ((getline line < source) > 0) found = found || line ~ /foreach_target\.h|^#define Eigen /
      close(source)
      return found
    }
    function append(unit, source, line) {
      print "#line 1 \"" source "\"" >unit
      while ((getline line < source) > 0) print line >unit
      close(source)
    }
    # The sources that a file includes.
    function append_all(unit, source, line) {
      while ((getline line < source) > 0) if (line ~ /^#include "/) append(unit, substr(line, 11, length(line) - 11))
      close(source)
    }
    {
      gsub(/ -O[0-9]| -fPIC| -fvisibility[^ ]*| -Wno-subobject-linkage/, "", $1)  # of code, and none is made
      flags[NR] = $1
      source[NR] = $2
      # Our own, or of linking: nothing that is read in headers that are not ours.
      gsub(/ -I[^ ]*| -D(SOFTCHECK|softcheck)_[^ ]*| -D[A-Z]+_(ALL_NO_LIB|DYN_LINK|CONTEXT_DYN_LINK|SHARED|SHARED_DEFINE)/, "", $1)
      shared[NR] = $1
      size[$1]++
    }
    END {
      for (i = 1; i <= NR; i++) {
        precompiled = ""
        alone = stands_alone(source[i])
        header = source[i] ~ /_verify_interface_header_sets\//  # includes a header of ours and nothing else
        several = source[i] ~ /\/Unity\/unity_/  # made of the sources that it includes
        if (flags[i] ~ /^clang\+\+/ && size[shared[i]] > 3 && !alone && !header) {  # few gain nothing
          if (!(shared[i] in group)) {
            group[shared[i]] = ++groups
            file = work "/headers_" groups ".hpp"
            print shared[i] " -fpch-instantiate-templates -x c++-header " file " -o " file ".pch" >(work "/precompile")
          }
          collect(group[shared[i]], source[i])
          precompiled = " -include-pch " work "/headers_" group[shared[i]] ".hpp.pch"
        }
        read = source[i]
        if (several) append_all(read = work "/unit_" ++units ".cpp", source[i])
        else if (!alone && (header || source[i] in library)) {
          folder = source[i]
          if (header) sub(/_verify_interface_header_sets\/.*/, "", folder)
          else sub(/[^\/]*$/, "", folder)
          begun = (flags[i], folder) in unit
          if (!begun) unit[flags[i], folder] = work "/unit_" ++units ".cpp"
          read = unit[flags[i], folder]
          append(read, source[i])
          if (begun) continue
        }
        print flags[i] precompiled " -fsyntax-only " read >(work "/commands")
      }
    }'
[ -s "$work/commands" ] || { echo "no compile commands in $build"; exit 1; }
run() { tr '\n' '\0' | xargs -0 -P "$(nproc)" -n 1 sh -c; }
run <"$work/precompile"
run <"$work/commands"

# The same command must fail on a source that earns warnings, the second in its file.
printf '#line 1 "planted.cpp"\nstatic int planted() { return 0; }\nstatic const int unused = 0;\n' >"$work/planted.cpp"
command=$(grep -e '-include-pch' "$work/commands" | grep -m 1 -e '-Werror' | sed "s|[^ ]*\$|$work/planted.cpp|")
if sh -c "$command" 2>"$work/log" || ! grep -q '^planted.cpp:1:.*-Wunused-function' "$work/log" ||
  ! grep -q '^planted.cpp:2:.*-Wunused-const-variable' "$work/log"; then
  cat "$work/log"
  echo "an unused function and an unused constant were not refused: $command"
  exit 1
fi
echo "$(wc -l <"$work/commands") units, no warning"
