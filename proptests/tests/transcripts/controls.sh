#!/bin/sh
# The runner of transcripts accepts what is printed, and no other word, line or exit code.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

accepts() { sh "$here/run.sh" /bin/true "$work" "$work/session" >"$work/out" 2>&1; }
cat >"$work/right" <<'TRANSCRIPT'
# A comment.
$ printf 'a word\n\nmore words of a line\nthe end\n'
a word
more...of...line
the end
$ cat <<X && false  # exit 1
> first
> second
> X
...
second
$ cd "$root"
TRANSCRIPT
cp "$work/right" "$work/session"
accepts || { cat "$work/out"; exit 1; }
while IFS= read -r change; do
  sed "$change" "$work/right" >"$work/session"
  if accepts; then echo "not noticed: $change"; exit 1; fi
  grep -q "^$work/session:[0-9]*: " "$work/out" || { echo "no line is named: $change"; exit 1; }
done <<'CHANGES'
s/^a word/a ward/
s/^more\.\.\./less.../
s/\.\.\.line/...lines/
/^the end/d
/^a word/d
s/^the end/&\nthe end/
s/^second/third/
s/^> second/> seconds/
s/exit 1$/exit 2/
s/  # exit 1$//
s/^\$ cd.*/$ exit/
s/^\$ cd.*/$ exit 1/
CHANGES
echo '# no command' >"$work/session"
if accepts; then echo "a transcript without a command passes"; exit 1; fi
