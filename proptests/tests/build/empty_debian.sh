#!/bin/sh
# In a Debian that has nothing of ours, ./run verify installs what it needs: from an archive of the sources it comes as far as a
# configured build, which finds every library, the optional ones too, and every header that our sources include compiles. A deep
# run makes that Debian with debootstrap, as root.
set -eu
cd "$(dirname "$0")/../../.."
[ "${SOFTCHECK_EFFORT:-}" = deep ] || { echo "Skipped: an empty Debian is made by ./run test --deep"; exit 77; }
command -v debootstrap >/dev/null 2>&1 || { echo "Skipped: no debootstrap"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "Skipped: debootstrap needs root"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "Skipped: no git checkout, of which an archive could be made"; exit 77; }
fail() { echo "empty Debian: $*"; exit 1; }
work=$(mktemp -d)
trap 'umount "$work/root/proc" 2>/dev/null || :; rm -rf --one-file-system "$work"' EXIT
. /etc/os-release
mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { print $2; exit }' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null)
debootstrap --variant=minbase "$VERSION_CODENAME" "$work/root" "$mirror" >"$work/log" 2>&1 ||
  { echo "Skipped: debootstrap could not fetch Debian: $(tail -n 1 "$work/log")"; exit 77; }
cp /etc/apt/apt.conf.d/* "$work/root/etc/apt/apt.conf.d/" # a proxy, if there is one
mount -t proc proc "$work/root/proc" || { echo "Skipped: no right to mount"; exit 77; }
mkdir "$work/root/softcheck" "$work/root/front"
git archive HEAD | tar -x -C "$work/root/softcheck"
cp proptests/tests/build/empty_debian/* "$work/root/front/"
inside() { chroot "$work/root" env -i PATH=/front:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root "$@"; }

# front/cmake configures, and says what it would build.
if said=$(inside /softcheck/run verify 2>&1); then fail "built without a build: $said"; fi
case $said in *'would build '*softcheck_verify*) ;; *) fail "./run verify stops before it builds: $said" ;; esac
if grep -E 'Could NOT find|not found \(Debian' "$work/root/softcheck/build/configure.log"; then fail "CMake misses a library"; fi
inside sh /front/headers.sh /softcheck
echo "an empty Debian has what ./run verify needs"
