#!/bin/sh
# The wheel that ./run wheel aarch64 has made: its symbols, and what it judges by qemu.
set -eu
wheel=$(ls build/wheels/*_aarch64.whl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m zipfile -e "$wheel" "$work"
sh proptests/tests/build/wheel/symbols.sh "$work"
status=0
sh proptests/tests/build/old_debian.sh "$wheel" build/python/wheel/bin/python || status=$?
[ $status = 77 ] || exit $status
