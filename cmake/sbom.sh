#!/bin/sh
# sbom.sh FOLDER VERSION DATE DEPENDENCY... writes FOLDER/softcheck-VERSION.spdx.json: what the packages in FOLDER are made of.
#
# SPDX 2.3. A package depends on the Debian packages of its field Depends. Those that it is built with, their headers and
# archives being in it, are the DEPENDENCY... that are installed. Both with the versions of this machine.
set -eu
folder=$1 version=$2 date=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A character that SPDX does not allow in an identifier becomes '.'.
id() { printf 'SPDXRef-%s' "$(printf %s "$1" | tr -c 'A-Za-z0-9.-' .)"; }
separated() { sed '$!s/$/,/' "$1"; }
debian_package() { # name: a line, once, if it is installed
  found=$(dpkg-query -W -f '${Version} ${Architecture}' "$1" 2>/dev/null) || return 0
  printf '    {"SPDXID": "%s", "name": "%s", "versionInfo": "%s", "supplier": "Organization: Debian", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s"}]}\n' \
    "$(id "$1")" "$1" "${found% *}" "$1" "$(printf %s "${found% *}" | sed 's/+/%2B/g; s/:/%3A/g; s/~/%7E/g')" "${found#* }" >>"$work/debian"
}

: >"$work/debian"
for file in "$folder"/*.deb; do
  name=$(dpkg-deb -f "$file" Package)
  printf '    {"SPDXID": "%s", "name": "%s", "versionInfo": "%s", "supplier": "NOASSERTION", "downloadLocation": "NOASSERTION", "filesAnalyzed": false, "licenseDeclared": "%s", "packageFileName": "%s", "checksums": [{"algorithm": "SHA256", "checksumValue": "%s"}]}\n' \
    "$(id "$name")" "$name" "$version" "$(sed -n 's/^license: *//p' CITATION.cff)" "${file##*/}" "$(sha256sum "$file" | cut -d ' ' -f 1)" >>"$work/own"
  printf '    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "%s"}\n' "$(id "$name")" >>"$work/relations"
  for needed in $(dpkg-deb -f "$file" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//; s/[ \t]//g'); do
    case $needed in *softcheck*) ;; *) dpkg-query -W "$needed" >/dev/null 2>&1 || continue; debian_package "$needed" ;; esac
    printf '    {"spdxElementId": "%s", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": "%s"}\n' "$(id "$name")" "$(id "$needed")" >>"$work/relations"
  done
  for used; do
    dpkg-query -W "$used" >/dev/null 2>&1 || continue
    debian_package "$used"
    printf '    {"spdxElementId": "%s", "relationshipType": "BUILD_DEPENDENCY_OF", "relatedSpdxElement": "%s"}\n' "$(id "$used")" "$(id "$name")" >>"$work/relations"
  done
done
sort -u "$work/debian" >>"$work/own"
{
  printf '{\n  "spdxVersion": "SPDX-2.3",\n  "dataLicense": "CC0-1.0",\n  "SPDXID": "SPDXRef-DOCUMENT",\n  "name": "softcheck-%s",\n' "$version"
  printf '  "documentNamespace": "https://spdx.org/spdxdocs/softcheck-%s-%s",\n' "$version" "$(cat "$work/own" | sha256sum | cut -c 1-32)"
  printf '  "creationInfo": {"created": "%s", "creators": ["Tool: softcheck-sbom"]},\n  "packages": [\n' "$date"
  separated "$work/own"
  printf '  ],\n  "relationships": [\n'
  separated "$work/relations"
  printf '  ]\n}\n'
} >"$work/sbom"
mv "$work/sbom" "$folder/softcheck-$version.spdx.json"
