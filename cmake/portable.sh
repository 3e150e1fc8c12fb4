#!/bin/sh
# portable.sh FOLDER PYTHON ARCHITECTURE [CMAKE ARGUMENT...] makes what cmake/softcheck_wheel.cmake links the wheel's files
# with: FOLDER/libc, stubs of the shared libraries of glibc 2.28 and its start files, and FOLDER/archives.
#
# PYTHON has the module ziglang: zig knows the symbols of every glibc. apt fetches Debian's sources, and keeps its state in FOLDER.
# The CMake arguments are for another architecture: a toolchain file. Exits 4 where the sources cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
folder=$1 python=$2 architecture=$3
shift 3
wanted=$(cat cmake/portable.sh cmake/portable/* python/requirements/wheel.txt | cksum)
[ "$(cat "$folder/made" 2>/dev/null)" != "$wanted" ] || exit 0
say() { echo "portable.sh: $*" >&2; exit 1; }
case $architecture in
  x86_64) loader=ld-linux-x86-64.so.2 ;;
  aarch64) loader=ld-linux-aarch64.so.1 ;;
  *) say "need x86_64 or aarch64, got '$architecture'" ;;
esac
rm -rf "$folder"
mkdir -p "$folder/libc" "$folder/sources" "$folder/apt/lists/partial" "$folder/zig"
folder=$(cd "$folder" && pwd)
libc=$folder/libc

# Linking any program leaves stubs and start files in zig's cache. Without -fno-sanitize zig adds a library of its own.
export ZIG_GLOBAL_CACHE_DIR="$folder/zig" ZIG_LOCAL_CACHE_DIR="$folder/zig"
zig_cc() {
  "$python" -m ziglang cc -target "$architecture-linux-gnu.2.28" -O2 -fPIC -fvisibility=hidden -fno-sanitize=undefined "$@" ||
    say "zig could not compile for glibc 2.28"
}
echo 'int main(void) { return 0; }' >"$folder/any.c"
zig_cc -fPIE -pie "$folder/any.c" -o "$folder/any"
made_by_zig() { find "$folder/zig/o" -name "$1" | head -n 1 | grep . || say "zig made no $1"; }
stubs=$(dirname "$(made_by_zig libc.so.6)")
for name in m.so.6 dl.so.2 pthread.so.0 rt.so.1 util.so.1 c.so.6; do
  cp "$stubs/lib$name" "$libc/"
  ln -sf "lib$name" "$libc/lib${name%%.*}.so"
done
cp "$stubs/libld.so.2" "$libc/$loader"
cp "$(made_by_zig '*crt1.o')" "$libc/Scrt1.o"
cp "$libc/Scrt1.o" "$libc/crt1.o"
# Programs take stat and their start code from this archive; newer glibcs have both in the shared library.
cp "$(made_by_zig libc_nonshared.a)" "$libc/"
zig_cc -Wall -Wextra -c cmake/portable/newer_than_libc.c -o "$folder/newer_than_libc.o"
"$python" -m ziglang ar q "$libc/libc_nonshared.a" "$folder/newer_than_libc.o" 2>/dev/null
rm "$libc/libc.so"
# Threads and dlopen were in libraries of their own before glibc 2.34.
echo "GROUP ( $libc/libc.so.6 $libc/libc_nonshared.a AS_NEEDED ( $libc/libpthread.so.0 $libc/libdl.so.2 $libc/librt.so.1 $libc/libutil.so.1 $libc/$loader ) )" >"$libc/libc.so"

# shellcheck disable=SC2016 # for apt
apt-get indextargets --format '$(ORIGIN) deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
  sed -nE 's/^(Debian|Ubuntu) (.* (main|universe))$/\2/p' | sort -u >"$folder/apt/sources.list"
apt() {
  apt-get -qq -o APT::Sandbox::User= -o Dir::Etc::sourcelist="$folder/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State::lists="$folder/apt/lists" -o Dir::Cache="$folder/apt" "$@"
}
apt update && (cd "$folder/sources" && apt source highway fmtlib libzip >/dev/null) ||
  { echo "portable.sh: Debian's sources of highway, fmtlib and libzip could not be fetched" >&2; exit 4; }
cmake -G Ninja -S cmake/portable -B "$folder/archives" -DSOURCES="$folder/sources" -DCMAKE_BUILD_TYPE=Release "$@" >"$folder/log" 2>&1 &&
  cmake --build "$folder/archives" --target hwy fmt zip >>"$folder/log" 2>&1 ||
  { tail -n 20 "$folder/log" >&2; say "the archives could not be built"; }
rm -rf "$folder/zig" "$folder/apt" "$folder"/any*
echo "$wanted" >"$folder/made"
