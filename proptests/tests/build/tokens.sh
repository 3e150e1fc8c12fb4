#!/bin/sh
# softcheck model --tokens runs small checkpoints, and says what is wrong with ids and with other models.
#   tokens.sh SOFTCHECK
set -u
softcheck=$1
. "$(dirname "$0")/command_checks.sh"
checkpoints=$(dirname "$0")/../models/checkpoints
bert=$checkpoints/bert

for name in bert distilbert gpt2 roberta xlm-roberta; do
  expect 0 model "$checkpoints/$name" --tokens "$checkpoints/$name/tokens.jsonl" --json "$scratch/report.json"
  says "observed, medians over a layer's heads"
  holds "$scratch/report.json" '"model.observed.coefficients"'
done

# refuses_ids CODE TEXT IDS
refuses_ids() {
  printf "$3" >"$scratch/ids"
  refuses "$1" "$2" model "$bert" --tokens "$scratch/ids"
}
refuses_ids 3 'need a line of ids of tokens, got an empty file' ''
refuses_ids 3 'ids: need a line of ids of tokens, got only blanks' '\n \n'
refuses_ids 3 "line 2: need ids of tokens, integers from 0 to 2^31 - 1, got 'the cat'" '1 2\nthe cat\n'
refuses_ids 3 "line 1: need ids of tokens, integers from 0 to 2^31 - 1, got '1.5'" '1.5'
refuses_ids 3 "line 1: need ids .* got '-1, 2'" '[-1, 2]'
refuses_ids 3 'input 2: need ids of 0-39, which is the model.s vocabulary, got 40' '1\n40 2'
refuses_ids 3 'input 1: need at most 64 ids, which is the model.s context, got 65' "$(seq -s ' ' 0 32) $(seq -s ' ' 0 31)"
refuses 2 'missing' model "$bert" --tokens "$scratch/missing"
refuses 3 'line 1: need ids' model "$bert" --tokens "$bert/model.safetensors"
echo '1 2 3' >"$scratch/ids"
refuses 4 'in safetensors only bert, .* run on tokens, got gpt_oss' \
  model "$checkpoints/gpt_oss" --tokens "$scratch/ids"
refuses 4 'in gguf only .* got bert' model "$checkpoints/gguf-bert/model.gguf" --tokens "$scratch/ids"
mkdir "$scratch/mish"
cp "$bert/model.safetensors" "$scratch/mish"
sed 's/"hidden_act": "gelu"/"hidden_act": "mish"/' "$bert/config.json" >"$scratch/mish/config.json"
refuses 4 'the key hidden_act names the activation mish; gelu, gelu_new' model "$scratch/mish" --tokens "$scratch/ids"
expect 0 model "$scratch/mish"
refuses 2 'either recorded activations or tokens, got both' \
  model "$bert" --tokens "$scratch/ids" --activations "$bert/observed.safetensors"
refuses 2 'tokens needs a checkpoint of a Transformer' \
  model "$(dirname "$0")/../../../experiments/models/seeds/seed-01.safetensors" --tokens "$scratch/ids"

test $failures = 0 || { echo "$failures failures"; exit 1; }
echo "models run on tokens as documented"
