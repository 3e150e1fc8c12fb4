#!/bin/sh
# A run of softcheck model that its user ends is no pass.
#   checkpoints.sh SOFTCHECK
set -u
softcheck=$1
. "$(dirname "$0")/command_checks.sh"
checkpoints=$(dirname "$0")/../models/checkpoints

# A GPT-2 of zeros with 48 layers of 32 heads: more than a minute of work, of which little is done.
width=2048 layers=48
mkdir "$scratch/wide"
awk -v width=$width -v layers=$layers '
  function tensor(name, rows, columns) {
    printf "%s\"transformer.%s\":{\"dtype\":\"F32\",\"shape\":[%s%d],\"data_offsets\":[%.0f,", comma, name,
      (columns ? rows "," : ""), (columns ? columns : rows), at
    at += 4 * rows * (columns ? columns : 1)
    printf "%.0f]}", at
    comma = ","
  }
  function pair(name, rows, columns) {
    tensor(name ".weight", rows, columns)
    tensor(name ".bias", columns)
  }
  function norm(name) {
    tensor(name ".weight", width)
    tensor(name ".bias", width)
  }
  BEGIN {
    printf "{"
    tensor("wte.weight", 4, width)
    tensor("wpe.weight", 4, width)
    for (i = 0; i < layers; ++i) {
      pair("h." i ".attn.c_attn", width, 3 * width)
      pair("h." i ".attn.c_proj", width, width)
      pair("h." i ".mlp.c_fc", width, 4)
      pair("h." i ".mlp.c_proj", 4, width)
      norm("h." i ".ln_1")
      norm("h." i ".ln_2")
    }
    norm("ln_f")
    printf "}"
    printf "%.0f", at >"'"$scratch/bytes"'"
  }' >"$scratch/header"
safetensors "$scratch/header" >"$scratch/wide/model.safetensors"
truncate -s $((8 + length + $(cat "$scratch/bytes"))) "$scratch/wide/model.safetensors"
sed -e "s/\"n_embd\": [0-9]*/\"n_embd\": $width/" -e 's/"n_head": [0-9]*/"n_head": 32/' -e 's/"n_inner": [0-9]*/"n_inner": 4/' \
  -e "s/\"n_layer\": [0-9]*/\"n_layer\": $layers/" -e 's/"n_positions": [0-9]*/"n_positions": 4/' \
  -e 's/"vocab_size": [0-9]*/"vocab_size": 4/' "$checkpoints/gpt2/config.json" >"$scratch/wide/config.json"
"$softcheck" model "$scratch/wide" >"$scratch/out" 2>"$scratch/err" &
running=$!
# After a second of its processor's time it catches SIGTERM, and heads are certified.
ticks() { sed 's/.*) //' "/proc/$running/stat" | cut -d ' ' -f 12; }
tries=0
until test "$(ticks)" -ge "$(getconf CLK_TCK)" || test $tries = 600; do
  sleep 0.1
  tries=$((tries + 1))
done
kill -TERM $running
wait $running
status=$?
test $status = 5 || complain "certificates that their user ends exit with $status instead of 5"
says '^pass: [0-9]* of 1536 heads certified .*; interrupted$'

test $failures = 0 || { echo "$failures failures"; exit 1; }
echo "checkpoints answer as documented"
