#!/bin/sh
# softcheck run figure-N and softcheck report write what they say, and say what they lack.
#   figures.sh SOFTCHECK
set -u
softcheck=$1
. "$(dirname "$0")/command_checks.sh"

refuses 2 'no-such-flag' run figure-2 --no-such-flag
refuses 2 'largest' run figure-2 --largest 8
refuses 2 'seed' run figure-7 --seed never
refuses 2 'steps' run figure-9 --steps 0
refuses 2 'threads' run figure-6 --threads 0
: >"$scratch/file"
refuses 2 '--out: need a folder' run figure-5 --out "$scratch/file"
refuses 3 '--models: .*missing' run figure-2 --models "$scratch/missing" --out "$scratch/a"
mkdir "$scratch/bad"
printf 'no model' >"$scratch/bad/seed.safetensors"
refuses 2 'largest' run figure-6 --largest 16 # one size has no axis
refuses 3 '--models: .*seed.safetensors' run figure-6 --models "$scratch/bad" --out "$scratch/a"

# What rows cost: every kernel at every length, and no picture without gnuplot.
refuses 2 'largest' run growth --largest 1000
refuses 4 '--largest 1073741824 needs .* GiB of memory' run growth --largest 1073741824 --width 1024
refuses 2 '--out: need a folder' run growth --out "$scratch/file"
without_gnuplot run growth --largest 4096 --rounds 1 --out "$scratch/growth"
says 'adaptive attention: time grows as n^'
holds "$scratch/growth/growth.csv" '^# softcheck run growth --largest 4096 --width 16 --rounds 1'
test "$(grep -c ',\(1024\|4096\),' "$scratch/growth/growth.csv")" = 14 || complain "growth.csv has not seven kernels at two lengths"

# Figure 3 needs a model that runs on tokens, or one of our own.
checkpoints=$(dirname "$0")/../models/checkpoints
refuses 2 'missing' run figure-3 --model "$scratch/missing" --out "$scratch/a"
refuses 4 'run on tokens, got vit' run figure-3 --model "$checkpoints/vit" --out "$scratch/a"
refuses 2 'inputs' run figure-3 --model "$checkpoints/bert" --inputs 0
echo '1 2 3' >"$scratch/short"
refuses 2 'need an input of at least 16 ids' run figure-3 --model "$checkpoints/bert" --tokens "$scratch/short" --out "$scratch/a"
for name in bert gpt2; do
  without_gnuplot run figure-3 --model "$checkpoints/$name" --seed 3 --inputs 2 --out "$scratch/f3"
  holds "$scratch/f3/figure_3.csv" "^# softcheck run figure-3 --model $name --seed 3 --inputs 2 --largest 64"
  holds "$scratch/f3/figure_3.csv" '^# models (sha256): model.safetensors [0-9a-f]\{64\}'
  # Two layers of four heads, 16, 32 and 64 items; every query of BERT sees them all, one of GPT-2's.
  rows=$(test $name = bert && echo 128 || echo 2)
  test "$(grep -c "^[01],[0-3],64,$rows," "$scratch/f3/figure_3.csv")" = 8 || complain "$name: not 8 lines of 64 items and $rows rows"
  test "$(grep -vc '^#' "$scratch/f3/figure_3.csv")" = 25 || complain "$name: figure_3.csv has not a line of names and 24 rows"
done

# Inputs as they are: a causal one has its last query.
printf '1 2 3\n4 5 6 7 8\n' >"$scratch/whole"
refuses 2 '--whole: need --tokens' run figure-3 --model "$checkpoints/gpt2" --whole --out "$scratch/a"
without_gnuplot run figure-3 --model "$checkpoints/gpt2" --tokens "$scratch/whole" --whole --out "$scratch/f3"
holds "$scratch/f3/figure_3.csv" '^# softcheck run figure-3 --model gpt2 --tokens whole --whole --largest 5'
test "$(grep -c '^[01],[0-3],[35],1,' "$scratch/f3/figure_3.csv")" = 16 || complain "figure_3.csv has not two rows of each head"

# Spreads of every head, and the temperature at inference, of a checkpoint that runs on tokens.
refuses 2 'tokens' run spreads --model "$checkpoints/gpt2"
refuses 4 'run on tokens, got vit' run spreads --model "$checkpoints/vit" --tokens "$scratch/whole" --out "$scratch/a"
without_gnuplot run spreads --model "$checkpoints/gpt2" --tokens "$scratch/whole" --out "$scratch/spreads"
says '^Lemma 2.1: proved of 48 of 48 rows'
says 'gpt2: 8 heads, spreads and logits within their certificates'
holds "$scratch/spreads/spreads.csv" '^# softcheck run spreads --model gpt2 --tokens whole'
test "$(grep -c '^[01],[0-3],0,6,' "$scratch/spreads/spreads.csv")" = 8 || complain "spreads.csv has not eight heads of six rows"
printf 'q\t5\tquestions\t1-2,3-5\t4 5 6 7 8\nq\t5\tquestions\t2-4\t8 7 6 5 4\n' >"$scratch/tasks"
refuses 3 'whole: line 1: need five columns' run adaptive-language --model "$checkpoints/gpt2" --tokens "$scratch/whole" --out "$scratch/a"
refuses 4 'need an output to have logits' run adaptive-language --model "$checkpoints/gpt2" --tokens "$scratch/tasks" --out "$scratch/a"
expect 0 run adaptive-language --model "$checkpoints/gguf-llama/model.gguf" --tokens "$scratch/tasks" --out "$scratch/arms"
says '^| q, 5 (3 in 2) | plain |'
holds "$scratch/arms/adaptive_language.csv" '^q,5,log_n,3,2,'
test "$(grep -c '^q,5,' "$scratch/arms/adaptive_language_units.csv")" = 10 || complain "not two units of five arms"

# A language model of our own: trained for two steps, it is certified, read and asked like the shipped ones.
refuses 2 '--temperature: need plain or adaptive' run train-language --temperature warm --out "$scratch/own"
refuses 2 '--positions: need rotary, randomised or none' run train-language --positions learned --out "$scratch/own"
refuses 2 '--attention: need softmax, log-n, sink, line or entmax' run train-language --attention linear --out "$scratch/own"
refuses 2 'need plain temperature with attention=entmax' run train-language --attention entmax --temperature adaptive --out "$scratch/own"
refuses 2 'heads that divide the width' run train-language --heads 3 --out "$scratch/own"
refuses 2 '--largest: need at least --smallest' run train-language --smallest 9 --largest 8 --out "$scratch/own"
refuses 2 '--out: need a folder' run train-language --out "$scratch/file"
for temperature in plain adaptive; do
  expect 0 run train-language --steps 2 --tokens 64 --layers 1 --width 16 --heads 1 --inner 16 --largest 5 \
    --temperature $temperature --out "$scratch/own/$temperature"
  test ! -e "$scratch/own/$temperature/training.checkpoint" || complain "a finished training left its checkpoint"
done
expect 0 model "$scratch/own/plain"
says '1 of 1 heads certified'
refuses 3 '--models: .*need folders with a model.safetensors' run figure-8 --models "$scratch/own/plain" --out "$scratch/a"
refuses 2 'problems' run figure-8 --problems 0
refuses 2 '--tokens: need as many as some text has, got 2' run figure-8 --tokens 2 --out "$scratch/f8none"
test ! -e "$scratch/f8none" || complain "a refused figure-8 left a folder"
without_gnuplot run figure-8 --models "$scratch/own" --problems 2 --tokens 200 --out "$scratch/f8"
holds "$scratch/f8/figure_8.csv" '^# softcheck run figure-8 --seed 1 --problems 2 --tokens 200'
holds "$scratch/f8/figure_8.csv" '^# models (sha256): adaptive [0-9a-f]\{64\} plain [0-9a-f]\{64\}'
holds "$scratch/f8/figure_8.csv" '^minimum,4,2,0,0,'
# A model that was trained without Fig. 4's temperature writes more characters right without it.
mkdir "$scratch/shipped"
cp -r experiments/models/language/plain-1 "$scratch/shipped"
without_gnuplot run figure-8 --models "$scratch/shipped" --problems 1 --tokens 400 --out "$scratch/f8"
grep '^[a-z_]*,[0-9]' "$scratch/f8/figure_8.csv" | awk -F, '{ without += $8; with += $14 } END { exit !(without > with) }' ||
  complain "figure_8.csv has the two temperatures exchanged"
refuses 2 '--tokens' run figure-3 --model "$scratch/own/plain" --tokens "$scratch/short" --out "$scratch/a"
without_gnuplot run figure-3 --model "$scratch/own/adaptive" --inputs 1 --largest 64 --out "$scratch/f3"
says 'adaptive: 3 points of heads, spreads and entropies within their certificates'
holds "$scratch/f3/figure_3_spreads.csv" '^0,0,64,'
# What is said of the spreads is what stands in the file: the median of two is their mean.
without_gnuplot run figure-3 --model "$scratch/own/adaptive" --inputs 1 --largest 32 --out "$scratch/f3"
says "$(grep '^0,0,' "$scratch/f3/figure_3_spreads.csv" | awk -F, '
  { seen += $6 / 2; certified += $7 / 2; if (NR == 1 || $6 < least) least = $6; if ($6 > most) most = $6 }
  END { printf "at a point: median %.2f, all %.2f to %.2f; certified: median %.1f\\. ", seen, least, most, certified }')"

# Heads that are not softmax of their scores: not certified as such, and asked without Fig. 4's temperature.
expect 0 run train-language --steps 2 --tokens 64 --layers 1 --width 16 --heads 1 --inner 16 --largest 5 \
  --attention entmax --out "$scratch/others/entmax"
refuses 4 'softcheck_attention is not known' model "$scratch/others/entmax"
refuses 4 'softcheck_attention is not known' run figure-3 --model "$scratch/others/entmax" --out "$scratch/a"
without_gnuplot run figure-8 --models "$scratch/others" --problems 2 --tokens 200 --out "$scratch/f8e"
holds "$scratch/f8e/figure_8.csv" '^minimum,4,2,0,0,[^,]*,[^,]*,[^,]*,[^,]*,*$'

# The temperature of a network is fitted to its sets.
mkdir "$scratch/one"
cp experiments/models/seeds/seed-01.safetensors "$scratch/one"
without_gnuplot run figure-6 --models "$scratch/one" --items 64 --largest 32 --out "$scratch/f6"
says '^1/theta of [1-9][0-9]* sets, H^0 first: -*[0-9.]* .* (quartic), '
# A terminal is told how much of it is done: no more than all.
PATH=/nonexistent /usr/bin/script -qec "'$softcheck' run figure-6 --models '$scratch/one' --threads 1 --items 64 --largest 64 --out '$scratch/f6'" /dev/null \
  >"$scratch/out" 2>"$scratch/err" </dev/null
says 'seed-01.safetensors (1 of 1): [1-9][0-9] %'
grep -o '[0-9a-z]* %' "$scratch/out" | awk '!($1 ~ /^[0-9]+$/ && $1 <= 100) { exit 1 }' || complain "more than all of it is done"

# Without gnuplot the data are written, and that is said.
without_gnuplot run figure-5 --out "$scratch/results/figure-5"
holds "$scratch/err" 'gnuplot-nox.*without a picture: figure_5.csv'
csv=$scratch/results/figure-5/figure_5.csv
holds "$csv" '^# softcheck [0-9].*commit'
holds "$csv" '^# softcheck run figure-5'
test "$(grep -vc '^#' "$csv")" = 162 || complain "figure_5.csv has not a line of names and 161 rows"

if command -v gnuplot >/dev/null 2>&1; then
  expect 0 run figure-5 --out "$scratch/results/figure-5"
  expect 0 run figure-2 --largest 32 --out "$scratch/results/figure-2"
  holds "$scratch/results/figure-2/figure_2.csv" '^# models (sha256): seed-01.safetensors [0-9a-f]\{64\}$'
  expect 0 run figure-9 --steps 3 --points 2 --out "$scratch/results/figure-9"
  says '2 steps, 10 certificates: proved'
  expect 0 run figure-3 --model "$checkpoints/bert" --out "$scratch/results/figure-3"
  for name in figure-3/figure_3 figure-5/figure_5 figure-2/figure_2 figure-9/figure_9; do
    holds "$scratch/results/$name.svg" '</svg>'
    test "$(head -c 4 "$scratch/results/$name.png" | tail -c 3)" = PNG || complain "$name.png is no PNG"
  done
  test -z "$(find "$scratch/results" -name '*.tmp*')" || complain "half-written files were left"
fi

refuses 2 '--op: need softmax, .* or attention, got .nothing.' run exhaustive --op nothing --out "$scratch/exhaustive"
refuses 2 'exhaustive: effort: .*f32, whose' run exhaustive --op attention --dtype f32 --out "$scratch/exhaustive"
# What is known when a budget ends has its picture and its numbers.
expect 5 run exhaustive --op entropy --dtype f32 --budget 1 --out "$scratch/exhaustive"
holds "$scratch/exhaustive/exhaustive_entropy_f32.svg" '</svg>'
holds "$scratch/exhaustive/exhaustive_entropy_f32.csv" '^# softcheck run exhaustive --op entropy --dtype f32'

# The page: everything escaped, nothing fetched, every element closed.
refuses 2 '--results: need a folder' report --results "$scratch/missing" --out "$scratch/page.html"
mkdir "$scratch/empty"
refuses 2 '--results: need results' report --results "$scratch/empty" --out "$scratch/page.html"
mkdir "$scratch/results/<i>"
printf '# origin & co\n<b>,"x"\n<script>alert(1)</script>,2\n' >"$scratch/results/<i>/a.csv"
printf '</pre><script>alert(2)</script>\n' >"$scratch/results/<i>/a.txt"
printf '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(3)</script></svg>' >"$scratch/results/<i>/a.svg"
refuses 2 '--out' report --results "$scratch/results" --out "$scratch/missing/page.html"
expect 0 report --results "$scratch/results" --out "$scratch/page.html"
lacks "$scratch/page.html" '<script\|<b>\|<i>\|http://\|https://\|src="[^d]'
for element in $(grep -o '</[a-z0-9]*>' "$scratch/page.html" | tr -d '</>' | sort -u) html body ul li section pre; do
  test "$(grep -o "<$element[ >]" "$scratch/page.html" | wc -l)" = "$(grep -o "</$element>" "$scratch/page.html" | wc -l)" ||
    complain "the page does not close every $element"
done
holds "$scratch/page.html" '&lt;script&gt;alert(1)&lt;/script&gt;'
holds "$scratch/page.html" '<th>&lt;b&gt;</th>'
holds "$scratch/page.html" '<td>2</td>'
holds "$scratch/page.html" '&lt;/pre&gt;&lt;script&gt;alert(2)'
holds "$scratch/page.html" 'origin &amp; co'
holds "$scratch/page.html" 'data:image/svg+xml;base64,'
# A picture comes back as it was.
grep -o 'alt="a.svg" src="data:image/svg+xml;base64,[^"]*' "$scratch/page.html" | sed 's/.*base64,//' | base64 -d >"$scratch/back.svg"
cmp -s "$scratch/back.svg" "$scratch/results/<i>/a.svg" || complain "the picture in the page is not the file's"

# The paper's order, a sentence below each picture, texts and long tables folded, four digits.
mkdir "$scratch/order" "$scratch/order/certificates" "$scratch/order/figure-2" "$scratch/order/table-1" "$scratch/order/more"
pages=$(dirname "$0")/../../../docs/experiments
cp "$pages"/table_1.* "$scratch/order/table-1"
cp "$pages"/figure_2.svg "$scratch/order/figure-2"
echo x | tee "$scratch/order/certificates/c.txt" >"$scratch/order/more/m.txt"
{ echo 'n,x'; seq 30 | sed 's/$/,0.123456789/'; } >"$scratch/order/figure-2/figure_2.csv"
expect 0 report --results "$scratch/order" --out "$scratch/page.html"
order=$(sed -n 's/^<section><h2 id="\([^"]*\)".*/\1/p' "$scratch/page.html" | tr '\n' ' ')
test "$order" = 'table-1 figure-2 certificates more ' || complain "the page's order is $order"
holds "$scratch/page.html" '<figure><img alt="table_1.svg".*<figcaption>Accuracy falls .* numbers.</figcaption>'
holds "$scratch/page.html" '<figure><img alt="figure_2.svg".*<figcaption>A line for each set'
holds "$scratch/page.html" '<details open><summary>table_1.csv (11 rows)'
holds "$scratch/page.html" '<details><summary>figure_2.csv (30 rows)'
holds "$scratch/page.html" '<p>... and 6 more in the file</p>'
holds "$scratch/page.html" '<td>16384</td>'
holds "$scratch/page.html" '<td>0.1235</td>'
test "$(grep -c '^<pre>' "$scratch/page.html")" = "$(grep -A 1 '<details><summary>' "$scratch/page.html" | grep -c '^<pre>')" || complain "a text is not folded"
# Every picture of docs/experiments has its sentence, and so have those of other runs.
mkdir "$scratch/pictures"
cp "$pages"/*.svg "$scratch/pictures"
rm "$scratch/pictures/figure_3_language.svg" "$scratch/pictures/spreads_smollm2.svg" # of other models
expect 0 report --results "$scratch/pictures" --out "$scratch/page.html"
lacks "$scratch/page.html" '<figcaption>[a-z_0-9]*.svg'

# The table on the page of experiments is that of the file that the command wrote, by the command's defaults.
answers 0 '--items .*2097152' run table-1 --help
holds "$pages/table_1.csv" '^# softcheck run table-1 --seed 1 --sets 8192 --items 2097152 --largest 16384$'
grep -v '^[#n]' "$pages/table_1.csv" |
  awk -F, '{ printf "| %d | %d | %.2f +- %.2f | %.2f +- %.2f | %+.2f |\n", $1, $2, $4, $5, $6, $7, $8 }' >"$scratch/cells"
test "$(wc -l <"$scratch/cells")" = 11 || complain "table_1.csv has not eleven sizes"
while read -r cells; do
  grep -qF -- "$cells" "$pages/README.md" || complain "docs/experiments/README.md has not the cells of table_1.csv: $cells"
done <"$scratch/cells"

# So are the tables of the pages about real models: PAGE, then the texts that the commands wrote.
while read -r page texts; do
  for text in $texts; do
    holds "$pages/$text" '^# softcheck run '
    grep '^|' "$pages/$text" >"$scratch/cells" || complain "$text has no table"
    while read -r cells; do
      grep -qxF -- "$cells" "$pages/$page" || complain "docs/experiments/$page has not the line of $text: $cells"
    done <"$scratch/cells"
  done
done <<'END'
figures.md spreads.txt figure_3.txt
adaptive_language.md adaptive_language_gemma.txt adaptive_language_smollm2.txt
END

test $failures = 0 || { echo "$failures failures"; exit 1; }
echo "figures and report answer as documented"
