#!/bin/sh
# The list of materials names each package in a folder, its checksum, what it depends on and what it is built with.
set -eu
command -v dpkg-deb >/dev/null 2>&1 || { echo "Skipped: no dpkg-deb"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "Skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make_package() { # name, dependencies
  mkdir -p "$work/root/DEBIAN"
  printf 'Package: %s\nVersion: 1.2\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: a test\nDepends: %s\n' \
    "$1" "$2" >"$work/root/DEBIAN/control"
  dpkg-deb -b "$work/root" "$work/$1_1.2_all.deb" >/dev/null
}
make_package libsoftcheck0 'libc6 (>= 2.36), absent-package'
make_package softcheck 'libsoftcheck0 (= 1.2), libc6'
sh cmake/sbom.sh "$work" 1.2 2026-01-02T03:04:05Z dpkg another-absent-package
python3 - "$work" <<'END'
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
document = json.loads((folder / "softcheck-1.2.spdx.json").read_text())
packages = {package["SPDXID"]: package for package in document["packages"]}
assert len(packages) == len(document["packages"]), "a package stands twice"
assert set(packages) == {"SPDXRef-libsoftcheck0", "SPDXRef-softcheck", "SPDXRef-libc6", "SPDXRef-dpkg"}, set(packages)
own = packages["SPDXRef-softcheck"]
found = hashlib.sha256((folder / own["packageFileName"]).read_bytes()).hexdigest()
assert own["checksums"][0]["checksumValue"] == found, own
assert own["licenseDeclared"] == "Apache-2.0", own
relations = {(r["spdxElementId"][8:], r["relationshipType"], r["relatedSpdxElement"][8:]) for r in document["relationships"]}
assert relations == {("DOCUMENT", "DESCRIBES", "libsoftcheck0"), ("DOCUMENT", "DESCRIBES", "softcheck"),
                     ("softcheck", "DEPENDS_ON", "libsoftcheck0"), ("softcheck", "DEPENDS_ON", "libc6"),
                     ("libsoftcheck0", "DEPENDS_ON", "libc6"), ("dpkg", "BUILD_DEPENDENCY_OF", "softcheck"),
                     ("dpkg", "BUILD_DEPENDENCY_OF", "libsoftcheck0")}, relations
END
