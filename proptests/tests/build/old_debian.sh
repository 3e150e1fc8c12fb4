#!/bin/sh
# old_debian.sh WHEEL PYTHON: the wheel in a Debian 11, whose glibc is 2.31: its pip installs the wheel, wheel/use.py runs, and
# the command judges the kernels that came with it. A wheel of another architecture runs by qemu. PYTHON has a pip.
# Exits 77 where there is no such Debian to be had.
set -eu
wheel=$1 python=$2
skipped() { echo "SKIPPED [1] old_debian.sh:1: Debian 11: $*"; exit 77; }
command -v apt-get >/dev/null 2>&1 || skipped "no apt-get"
machine=$(basename "$wheel" .whl | grep -oE '(x86_64|aarch64)$')
case $machine in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; esac
if [ "$machine" = "$(uname -m)" ]; then
  packages='bash coreutils libc-bin mount python3-pip'
  [ "$(id -u)" = 0 ] || skipped "needs root, for a root folder of its own"
  unshare --mount true 2>/dev/null || skipped "no right to mount"
else
  packages=python3
  command -v qemu-$machine >/dev/null 2>&1 || skipped "no qemu-$machine"
fi
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mkdir -p "$work/lists/partial" "$work/archives/partial" "$root/proc" "$root/dev" "$root/old" "$root/wheels"
: >"$work/status"
# shellcheck disable=SC2016 # for apt
apt-get indextargets --format 'deb $(REPO_URI) bullseye $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u >"$work/sources.list"
cat >"$work/apt.conf" <<CONF
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work";
CONF
# shellcheck disable=SC2086 # a list of words
APT_CONFIG=$work/apt.conf apt-get -qq update >"$work/log" 2>&1 &&
  APT_CONFIG=$work/apt.conf apt-get -qq install -y --download-only --no-install-recommends $packages >>"$work/log" 2>&1 ||
  skipped "its packages could not be fetched: $(tail -n 1 "$work/log")"
for package in "$work"/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
pip() { "$python" -m pip "$@" -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.9 --platform "manylinux2014_$machine" >"$work/log" 2>&1; }
pip download -d "$root/wheels" numpy cloudpickle || skipped "no NumPy for its Python: $(tail -n 1 "$work/log")"
cp "$wheel" proptests/tests/build/wheel/use.py python/tests/kernels.py "$root/wheels/"
if [ "$machine" = "$(uname -m)" ]; then
  # Not chroot: the judge's own namespaces need a root that is the root of a mount.
  inside() {
    # shellcheck disable=SC2016 # for that shell
    unshare --mount --pid --fork sh -c '
      mount --make-rprivate / && mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc"
      cd "$1" && pivot_root . old && cd / && shift
      PATH=/usr/bin:/bin umount -l /old
      exec env -i HOME=/tmp PATH=/usr/local/bin:/usr/bin:/bin "$@"' sh "$root" "$@"
  }
  inside /usr/bin/python3 -m pip install -q --no-index --find-links /wheels softcheck
else
  pip install --platform "manylinux_2_27_$machine" --target "$root/usr/local/lib/python3.9/dist-packages" "$root"/wheels/*.whl || { cat "$work/log"; exit 1; }
  inside() {
    program=$(realpath "$root$1")
    shift
    sh cmake/aarch64_emulator.sh "$root" "$program" "$@"
  }
fi
package=/usr/local/lib/python3.9/dist-packages/softcheck
inside /usr/bin/python3 /wheels/use.py
kernels=$package/lib/softcheck/libsoftcheck_cpu_kernels.so
inside $package/bin/softcheck kernel $kernels:softcheck_softmax --op softmax --dtype f32 --effort quick \
  --contract 'exp=1ulp sum=blocks:32 masked=nan subnormal=kept' >"$work/log" 2>&1 ||
  { cat "$work/log"; echo "Debian 11: the command does not judge its own kernel right"; exit 1; }
tail -n 1 "$work/log"
echo "Debian 11, $machine, $(inside /usr/bin/python3 -c 'import platform; print(*platform.libc_ver(), "Python", platform.python_version())'): passes"
