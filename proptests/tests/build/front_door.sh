#!/bin/sh
# ./run answers help and refuses what it does not know, without building anything.
set -eu
./run help | grep -q 'usage: ./run VERB'
if ./run no-such-verb >/dev/null 2>&1; then echo "an unknown verb was accepted"; exit 1; else test $? = 2; fi
grep -q '^./run test$' .ci/run
grep -q '^./run test --slice ' .ci/run
for called in $(sed -nE 's/^( *- run: )?\.\/run ([a-z0-9]+).*/\2/p' .ci/run .ci/release .github/workflows/*.yml | sort -u); do
  grep -q "^  $called) " run || { echo "the workflow calls ./run $called, and there is no such verb"; exit 1; }
done
# A word that a verb does not take is an error that names both. Those of verify, bench and mutate go to a program.
verbs=$(./run help | sed -n 's/^  \([a-z0-9]\{1,\}\)\( .*\)\{0,1\}$/\1/p')
for verb in $verbs; do
  case $verb in
    verify | bench | mutate) continue ;;
    install | wheel) first=$(uname -m) ;;
    *) first='' ;;
  esac
  status=0
  said=$(timeout 20 ./run "$verb" ${first:+"$first"} nonsense 2>&1) || status=$?
  case $status$said in 2*"run: $verb: "*nonsense*) ;; *) echo "run $verb $first nonsense: exit $status, $said"; exit 1 ;; esac
done
case $verbs in *pages*models*format*clean*) ;; *) echo "found the verbs $verbs"; exit 1 ;; esac
for wrong in '--nonsense' '--results' '--seconds' '--seconds 0' '--seconds x'; do
  status=0
  # shellcheck disable=SC2086 # a flag and its value
  said=$(./run gpu $wrong 2>&1) || status=$?
  case $said in *"${wrong%% *}"*) ;; *) echo "run gpu $wrong says: $said"; exit 1 ;; esac
  [ "$status $(printf '%s\n' "$said" | wc -l)" = '2 1' ] || { echo "run gpu $wrong: exit $status: $said"; exit 1; }
done

# What verbs install and build. Programs on PATH log their arguments and do nothing else.
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { cat "$work/said" "$work/calls"; echo "$*"; exit 1; }
mkdir -p "$work/bin" "$work/checkout/python"
cp run "$work/checkout/"
cp -r python/tools.sh python/requirements "$work/checkout/python/"
program() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
for name in apt-get cmake ldconfig; do program $name "echo \"$name \$*\" >>\"$work/calls\""; done
program apt-cache 'exit 0'
program dpkg-query 'exit 1'
program python3 'exit 1'
program id 'echo 0'
# called STATUS ARGUMENTS...: ./run in another folder
called() {
  want=$1 status=0
  shift
  : >"$work/calls"
  (cd "$work" && PATH="$work/bin:$PATH" checkout/run "$@") >"$work/said" 2>&1 || status=$?
  [ $status = "$want" ] || fail "run $*: exit $status, need $want"
}
wants() { grep '^apt-get install' "$work/calls" | tr ' ' '\n' | grep -qx "$1"; }
called 2 wheel sparc
called 4 wheel
grep -q '^run: wheel: need python3 with venv (Debian: python3-venv)' "$work/said" || fail "./run wheel does not say that it needs python3-venv"
for package in g++ libmpfi-dev libzip-dev python3-venv dpkg-dev; do wants $package || fail "./run wheel does not install $package"; done
for package in coq ocaml gappa clang doxygen libopenmpi-dev libgtest-dev libbenchmark-dev libdnnl-dev gnuplot-nox; do
  if wants $package; then fail "./run wheel installs $package"; fi
done
called 4 wheel local
wants python3-venv || fail "./run wheel local does not install python3-venv"
for package in dpkg-dev libgtest-dev; do
  if wants $package; then fail "./run wheel local installs $package"; fi
done
grep -q '^cmake --preset release .*-DSOFTCHECK_BUILD_TESTS=OFF' "$work/calls" || fail "./run wheel local configures tests"
called 4 pages
grep -q '^run: pages: need python3 with venv (Debian: python3-venv)' "$work/said" || fail "./run pages does not say that it needs python3-venv"
for package in doxygen python3-venv; do wants $package || fail "./run pages does not install $package"; done
for package in g++ cmake coq; do
  if wants $package; then fail "./run pages installs $package"; fi
done
for words in '0 command OFF' '0 command all ON' '4 wheel OFF' '0 configure ON'; do
  # shellcheck disable=SC2086 # words
  called ${words% *}
  grep -q "^cmake --preset release .*-DSOFTCHECK_EXPERIMENTS=${words##* }" "$work/calls" || fail "./run ${words% *} configures other experiments"
done
called 0 install prefix
if wants python3-venv; then fail "./run install installs python3-venv"; fi
grep -q '^cmake --preset release .*-DSOFTCHECK_BUILD_TESTS=OFF' "$work/calls" || fail "./run install configures tests"
grep -qx "cmake --install build/release --prefix $work/prefix" "$work/calls" || fail "./run install installs elsewhere"
targets=$(sed -n 's/^cmake --build --preset release --target //p' "$work/calls")
called 0 configure
wants libgtest-dev && grep -q '^cmake --preset release .*-DSOFTCHECK_BUILD_TESTS=ON' "$work/calls" || fail "./run configure leaves out the tests"
called 2 install one two
# The files of a release. A tag of another version, or one without notes, is refused before hours of building.
mkdir -p "$work/release/.ci" "$work/release/build/wheels" "$work/release/build/packages"
cp .ci/release "$work/release/.ci/"
touch "$work/release/build/wheels/a.whl" "$work/release/build/packages/a.deb"
echo 'project(softcheck VERSION 1.2.3 LANGUAGES C CXX' >"$work/release/CMakeLists.txt"
printf '## 1.2.3\n\n- new\n\n## 1.2.2\n\n- old\n' >"$work/release/CHANGELOG.md"
for name in bin/gh release/run; do program "../$name" "echo \"${name#*/} \$*\" >>\"$work/calls\"; case \$0 in *gh) cat >\"$work/said\" ;; esac"; done
# released STATUS TAG: is this its exit code?
released() {
  : >"$work/calls"
  status=0
  PATH="$work/bin:$PATH" sh "$work/release/.ci/release" "$2" >"$work/said" 2>&1 || status=$?
  [ $status = "$1" ] || fail "release $2: exit $status, need $1"
}
released 2 v1.2.4
[ ! -s "$work/calls" ] || fail "builds a release of another version"
released 0 v1.2.3
[ "$(tr '\n' ',' <"$work/calls")" = 'run command all,run wheel,run wheel aarch64,run package,gh release create v1.2.3 --verify-tag --title softcheck 1.2.3 --notes-file - build/wheels/a.whl build/packages/a.deb,' ] ||
  fail "a release is made of something else"
grep -qx -e '- new' "$work/said" && ! grep -q old "$work/said" || fail "the notes are not those of the version"
sed -i 's/^## 1.2.3/## Unreleased/' "$work/release/CHANGELOG.md"
released 2 v1.2.3
# These targets are all that is installed: commands of theirs name each archive and shared library.
# shellcheck disable=SC2086 # a list of words
ninja -C "$build" -t commands $targets >"$work/commands"
find "$build" -name cmake_install.cmake -exec sed -nE 's|^ *file\(INSTALL .* TYPE [A-Z]+_?(LIBRARY\|MODULE) FILES "'"$build"'/([^"]*)".*|\2|p' {} + >"$work/calls"
[ "$(wc -l <"$work/calls")" -gt 10 ] || fail "found nothing that is installed"
while read -r file; do
  grep -qF "$file" "$work/commands" || fail "$file is installed, and ./run install does not build it"
done <"$work/calls"
# Language models are no part of verify's build.
language() { ninja -C "$build" -t inputs "$1" | grep -q 'libsoftcheck_language\.a$'; }
language softcheck || fail "the command is built without the language models"
for target in softcheck_verify softcheck_alone; do
  if language $target; then fail "$target is built with the language models"; fi
done
# What ./run command leaves out says how to get it, with arguments and without.
for words in run campaign report 'run table-1 --sets 3' 'campaign merge' 'run --nonsense'; do
  status=0
  # shellcheck disable=SC2086 # words
  "$build/softcheck_alone" $words >"$work/said" 2>&1 || status=$?
  [ "$status $(cat "$work/said")" = "4 softcheck: ${words%% *}: not in this build; in a clone, ./run command all builds it" ] || fail "softcheck_alone $words: exit $status"
done
"$build/softcheck_alone" kernel --help | grep -q 'LIB:SYMBOL' || fail "softcheck_alone judges no kernel"
