#!/bin/sh
# aarch64_emulator.sh ROOT PROGRAM ARGUMENT... runs a program for aarch64 by qemu, with the libraries in ROOT.
#
# qemu 7.2 keeps 24 bytes for each page of addresses that a program reserves: 6 GiB for the TiB that the judge reserves for
# each kernel where it may (judge/sandbox/guarded_pages.hpp). Of 128 GiB the judge gets no TiB, and needs none.
ulimit -v 134217728
export SOFTCHECK_EMULATOR=qemu-user # for tests that say why they are skipped
root=$1
shift
exec qemu-aarch64 -L "$root" "$@"
