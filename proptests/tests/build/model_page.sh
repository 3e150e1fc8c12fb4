#!/bin/sh
# softcheck model --html: one page with every head, nothing from elsewhere; in a browser a head's ladder is shown.
set -eu
softcheck=$1
checkpoints=proptests/tests/models/checkpoints
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for model in llama gpt2; do
  "$softcheck" model $checkpoints/$model --html "$work/$model.html" >/dev/null
  heads=$(grep -c '"kv_head":' "$work/$model.html")
  [ "$heads" = 8 ] || { echo "$model: $heads heads in the page, not 8"; exit 1; }
  if grep -qE 'https?://|src=|@import' "$work/$model.html"; then echo "$model: the page loads something"; exit 1; fi
done
# A path is text, whatever it holds.
cp -r $checkpoints/gpt2 "$work/<b>"
"$softcheck" model "$work/<b>" --html "$work/b.html" --layers 0 >/dev/null
if grep -q '<b>' "$work/b.html"; then echo "a path becomes markup"; exit 1; fi
status=0
"$softcheck" model $checkpoints/gpt2 --html "$work/no/such.html" >/dev/null 2>&1 || status=$?
[ $status = 2 ] || { echo "--html in a folder that is not there: exit $status"; exit 1; }
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "skipped: the rendering, no chromium"; exit 77; }
timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$work/profile" --dump-dom \
  "file://$work/llama.html#head-1-2" >"$work/dom" 2>/dev/null || { echo "skipped: the rendering, chromium does not start"; exit 77; }
grep -q 'Head 1.2' "$work/dom" || { echo "the hash selects no head"; exit 1; }
[ "$(grep -o 'data-head="head-1-2"' "$work/dom" | wc -l)" = 4 ] || { echo "head 1.2 is not in each of four maps"; exit 1; }
grep -q 'spread, best' "$work/dom" || { echo "no ladder"; exit 1; }
