#!/bin/sh
# old_debian.sh WHEEL PYTHON SCRIPTS: the wheel in a Debian 11, whose glibc is 2.31: its pip installs the wheel, SCRIPTS/use.py
# runs, and the command judges the kernels that came with it. PYTHON has a pip that fetches NumPy. Exits 77 where there is no
# such Debian to be had.
set -eu
wheel=$1 python=$2 scripts=$3
skipped() { echo "SKIPPED [1] old_debian.sh:1: Debian 11: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skipped "needs root, for a root folder of its own"
unshare --mount true 2>/dev/null || skipped "no right to mount"
command -v apt-get >/dev/null 2>&1 || skipped "no apt-get"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mkdir -p "$work/lists/partial" "$work/archives/partial" "$root/proc" "$root/dev" "$root/old" "$root/wheels"
: >"$work/status"
# shellcheck disable=SC2016 # for apt
apt-get indextargets --format 'deb $(REPO_URI) bullseye $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u >"$work/sources.list"
apt() {
  apt-get -qq -o APT::Sandbox::User= -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State="$work" -o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" "$@"
}
apt update >"$work/log" 2>&1 &&
  apt install -y --download-only --no-install-recommends bash coreutils libc-bin mount python3-pip >>"$work/log" 2>&1 ||
  skipped "its packages could not be fetched: $(tail -n 1 "$work/log")"
for package in "$work"/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
"$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.9 --platform "manylinux2014_$(uname -m)" \
  -d "$root/wheels" numpy >"$work/log" 2>&1 || skipped "no NumPy for its Python: $(tail -n 1 "$work/log")"
cp "$wheel" "$scripts"/*.py "$root/wheels/"
# Not chroot: the judge's own namespaces need a root that is the root of a mount.
inside() {
  # shellcheck disable=SC2016 # for that shell
  unshare --mount --pid --fork sh -c '
    mount --make-rprivate / && mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc"
    cd "$1" && pivot_root . old && cd / && shift
    PATH=/usr/bin:/bin umount -l /old
    exec env -i HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin "$@"' sh "$root" "$@"
}
inside python3 -m pip install -q --no-index --find-links /wheels softcheck
inside python3 /wheels/use.py
inside softcheck kernel /usr/local/lib/python3.9/dist-packages/softcheck/lib/softcheck/libsoftcheck_cpu_kernels.so:softcheck_softmax \
  --op softmax --dtype f32 --contract 'exp=1ulp sum=blocks:32 masked=nan subnormal=kept' --effort quick >"$work/log" 2>&1 ||
  { cat "$work/log"; echo "Debian 11: the command does not judge its own kernel right"; exit 1; }
tail -n 1 "$work/log"
echo "Debian 11, $(inside python3 -c 'import platform; print(*platform.libc_ver(), "Python", platform.python_version())'): passes"
