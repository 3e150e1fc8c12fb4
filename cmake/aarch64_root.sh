#!/bin/sh
# aarch64_root.sh FOLDER PACKAGE... unpacks Debian's arm64 packages, and all that they depend on, into FOLDER: the libraries
# that a cross-built softcheck is linked with, and the loader that qemu runs it by. ?PACKAGE is left out where there is none.
#
# It needs no root and installs nothing: apt keeps a state of its own beside FOLDER. A foreign architecture of the machine's
# own dpkg would not do: libdlpack-dev and libflint-dev of two architectures exclude each other.
set -eu
folder=$1
shift
wanted=$*
[ "$(cat "$folder/packages" 2>/dev/null)" != "$wanted" ] || exit 0
state=$folder.apt
rm -rf "$folder"
mkdir -p "$state/lists/partial" "$state/archives/partial"
state=$(cd "$state" && pwd)
: >"$state/status"
cat >"$state/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "";
Dir::State "$state";
Dir::State::status "$state/status";
Dir::State::lists "$state/lists";
Dir::Cache "$state";
Dir::Cache::archives "$state/archives";
CONF
export APT_CONFIG="$state/apt.conf"
apt-get update -qq
for package do
  shift
  case $package in
    '?'*) apt-cache show "${package#[?]}" >/dev/null 2>&1 || continue ;;
  esac
  set -- "$@" "${package#[?]}"
done
apt-get install -y -qq --download-only --no-install-recommends "$@"
mkdir -p "$folder.new"
for package in "$state"/archives/*.deb; do dpkg-deb -x "$package" "$folder.new"; done
# Links to absolute paths would leave the folder.
find "$folder.new" -type l -lname '/*' | while read -r link; do
  target=$(readlink "$link")
  ln -sfrT "$folder.new$target" "$link"
done
rm -rf "$state"
echo "$wanted" >"$folder.new/packages"
mv "$folder.new" "$folder"
