#!/bin/sh
# Debian packages: lintian, the same bytes twice, and what they do when installed into a Debian that has nothing of ours.
# A deep run makes that Debian with debootstrap, as root.
set -eu
cd "$(dirname "$0")/../../.."
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: packages are made and installed by ./run test --deep"; exit 77; }
for command in dpkg-shlibdeps lintian debootstrap; do
  command -v $command >/dev/null 2>&1 || { echo "Skipped: no $command"; exit 77; }
done
[ "$(id -u)" = 0 ] || { echo "Skipped: debootstrap needs root"; exit 77; }
fail() { echo "packages: $*"; exit 1; }

./run package >/dev/null
before=$(sha256sum build/packages/*)
./run package >/dev/null
[ "$before" = "$(sha256sum build/packages/*)" ] || fail "two builds differ: $before"

# The project has no mail host; CPack calls ldconfig; softcheck.pc stands where the wheel and an installation from the sources have it.
of_our_choice=bogus-mail-host,bogus-mail-host-in-debian-changelog,maintscript-calls-ldconfig,pkg-config-unavailable-for-cross-compilation
words=$(lintian --allow-root --suppress-tags $of_our_choice build/packages/*.deb | grep '^[EW]' || :)
[ -z "$words" ] || fail "$words"
for file in man/man1/softcheck.1.gz bash-completion/completions/softcheck; do
  dpkg-deb -c build/packages/softcheck_*.deb | grep -q " ./usr/share/$file\$" || fail "the command's package has no $file"
done

work=$(mktemp -d)
trap 'umount "$work"/root/proc "$work"/root/dev/shm 2>/dev/null || :; rm -rf --one-file-system "$work"' EXIT
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
. /etc/os-release
debootstrap --variant=minbase "$VERSION_CODENAME" "$work/root" "$mirror" >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail "debootstrap failed"; }
cp /etc/apt/apt.conf.d/* "$work/root/etc/apt/apt.conf.d/" # a proxy, if there is one
cp build/packages/*.deb "$work/root/tmp/"
mount -t proc proc "$work/root/proc" && mount -t tmpfs tmpfs "$work/root/dev/shm" || { echo "Skipped: no right to mount"; exit 77; }
inside() { chroot "$work/root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive "$@"; }
inside sh -c 'apt-get install -y -qq --no-install-recommends /tmp/softcheck_*.deb /tmp/libsoftcheck0_*.deb /tmp/python3-softcheck_*.deb' \
  >"$work/log" 2>&1 || { tail -n 5 "$work/log"; fail "apt-get install failed"; }
inside softcheck version
inside softcheck kernel /usr/lib/softcheck/libsoftcheck_cpu_kernels.so:softcheck_softmax --op softmax --dtype f32 \
  --contract 'exp=1ulp sum=blocks:32 masked=nan subnormal=kept' --effort quick | tail -n 1 | grep '^pass' || fail "the installed command judges no kernel"
inside softcheck verify --cases 20 | tail -n 1 | grep '^pass' || fail "the installed command verifies nothing"
inside python3 -m softcheck version >/dev/null || fail "python3 -m softcheck is not the command"
inside python3 - <<'END'
import numpy as np
import softcheck

def softmax(x):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

wrong = softcheck.check(lambda x: softmax(x) * np.float32(1.001), effort="quick", isolation="none")
assert wrong.verdict == "fail", wrong
p = softmax(np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6))
softcheck.assert_output("softmax", [np.linspace(-3, 3, 12, dtype=np.float32).reshape(2, 6)], p)
END
# Programs against the development files: by pkg-config and by CMake.
inside sh -c 'apt-get install -y -qq --no-install-recommends g++ cmake make pkg-config libgtest-dev libgmock-dev /tmp/libsoftcheck-dev_*.deb' >"$work/log" 2>&1 ||
  { tail -n 5 "$work/log"; fail "libsoftcheck-dev could not be installed"; }
cp -r proptests/tests/build/consumer "$work/root/tmp/consumer"
cp library/examples/judge.c "$work/root/tmp/"
inside sh -c 'cd /tmp/consumer && cmake -S . -B build >/dev/null && cmake --build build >/dev/null && build/consumer >/dev/null' ||
  fail "CMake's find_package(softcheck) made no program"
inside sh -c 'cd /tmp && cc judge.c $(pkg-config --cflags --libs softcheck) -lm -o judge && test -x judge' || fail "pkg-config's flags made no program"
echo "packages are reproducible, installed, and verify, judge and serve programs"
