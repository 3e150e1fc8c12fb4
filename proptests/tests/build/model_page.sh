#!/bin/sh
# softcheck model --html: one page with every head, nothing from elsewhere; in a browser its maps and tables.
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
# All pages have the style of one file.
[ "$(grep -rl '<style' --include='*.?pp' cli experiments judge library models numerics proptests theory)" = proptests/report/report_files.cpp ] ||
  { echo "a page has a style of its own"; exit 1; }

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  { echo "skipped: the rendering, no chromium"; exit 77; }
rendered() { # PAGE: as the browser has it, in $work/dom
  timeout 120 "$browser" --headless=new --no-sandbox --disable-gpu --allow-file-access-from-files --user-data-dir="$work/profile" --dump-dom \
    "file://$work/$1" >"$work/dom" 2>/dev/null || { echo "skipped: the rendering, chromium does not start"; exit 77; }
}
shows() { grep -qE -- "$1" "$work/dom" || { echo "the page does not show: $1"; exit 1; }; }
counts() { # N PATTERN
  [ "$(grep -oE -- "$2" "$work/dom" | wc -l)" = "$1" ] || { echo "the page has not $1 of: $2"; exit 1; }
}
rendered llama.html#head-1-2
shows '>Head 1.2<'
counts 4 'data-head="head-1-2"'
# The numbers of 2 layers and 4 heads on each map.
counts 24 '<span style="grid-[^"]*">[0-9]</span>'
shows '<abbr title="Proposition 3.1[^"]*">spread, product</abbr>'
# The colours of "reached", the last map, tell its eight heads apart.
[ "$(grep -oE 'aria-label="reached[^>]*background: rgb[^;]*' "$work/dom" | sed 's/.*rgb//' | sort -u | wc -l)" -ge 7 ] ||
  { echo "the map of what is reached has too few colours"; exit 1; }
# Four digits: a number of more has them in its title.
shows '<td title="[^"]{9,}">\[?[0-9.]{4,6}'
if grep -qE '<td[^>]*>\[?[0-9]*[.][0-9]{6,}' "$work/dom"; then echo "a number has more than four digits"; exit 1; fi
rendered llama.html
shows '>Head 1.1, the widest<'
rendered gpt2.html
shows '>An input reaches the bound of each head'
# A long name fits a phone. No window is so narrow, a frame is.
long=$work/$(printf 'x%.0s' $(seq 200))
cp -r $checkpoints/gpt2 "$long"
"$softcheck" model "$long" --html "$work/long.html" --layers 0 --fail-if 'spread.best > 20' >/dev/null && exit 1
rendered long.html
counts 4 'class="failing[^>]*data-head="head-0-1"|data-head="head-0-1"[^>]*class="failing'
echo '<iframe src="long.html" width="390"></iframe><script>onload = () =>
  document.title = document.querySelector("iframe").contentDocument.documentElement.scrollWidth <= 390 ? "fits" : "too wide"</script>' >"$work/frame.html"
rendered frame.html
shows '<title>fits</title>'
