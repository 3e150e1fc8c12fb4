# awk -f zoo_table.awk softcheck_kernel.h CONTRACTS.tsv SOURCE...: the rows of the zoo, from the comments beside its kernels.
#
#   // @judged OP DTYPE...: CONTRACT; VERDICT CLASS; PROPERTY; CLAIM; KEY VALUE; ...
#   BUG(symbol, ...
#
# A row for each dtype, of which 8bits stands for all that the header gives a code; kernels/README.md says what the columns are and what stands for a part that is left out. A contract
# without acc= has the dtype's own; `plain` is exp=1ulp sum=sequential and, without a word masked=, masked=nan. A correct
# kernel has neither class, property nor claim. A claim without a dot is one of the op's own. KEY is require, witness, exempt, effort or domain.
# CONTRACTS.tsv has the rows of other libraries and the columns' names (kernel_contracts.awk). The bodies that several machines
# share are left out: tests of their own judge them with few or small calls.
BEGIN {
  own["logsumexp"] = own["entropy"] = "value"
  own["cross_entropy"] = own["cross_entropy_mean"] = own["soft_cross_entropy"] = own["kl_divergence"] = "loss"
  own["linear_cross_entropy"] = "loss"
  own["linear_cross_entropy_backward"] = "dhidden|dweight"
  own["attention"] = own["adaptive_attention"] = "output|lse|entropy"
  own["attention_backward"] = "dq|dk|dv"
  own["sigmoid_attention"] = own["differential_attention"] = "output"
  own["merge_states"] = "out"
  own["topk_softmax"] = "weight"
  own["top_p_softmax"] = "kept"
  usual["attributes"] = "AttributesAreComputedAsDefined"
  usual["sequences"] = "SequencesOfAnyLengthAreComputed"
}
function fail(why) {
  printf "zoo_table: %s: %s: %s\n", FILENAME, why, $0 >"/dev/stderr"
  failed = 1
  exit 1
}
function usual_claim(op, property, verdict) {
  if (verdict ~ /^(crash|timeout)$/) return "kernel.returns"
  if (property ~ /^ANan/) return "kernel.nan_row"
  if (property ~ /^AnInfinite/) return "kernel.infinite_row"
  if (property ~ /^(AFullyMaskedRowIsAsDeclared|AnEmptyCallHasItsValues)/) return "kernel.masked_row"
  return (op in own ? own[op] : "element") (verdict == "fail|crash" ? "|kernel.returns" : "")
}
function whole_claims(op, claims,   part, n, i, text) {
  n = split(claims, part, "|")
  for (i = 1; i <= n; i++) text = text (i > 1 ? "|" : "") (part[i] ~ /\./ ? part[i] : "kernel." op "." part[i])
  return text
}
# The dtypes of a line, 8bits in full.
function all_of(dtypes) {
  if (dtypes ~ /8bits/ && eight_bits == "") fail("8bits needs codes of dtypes in softcheck_kernel.h")
  gsub(/8bits/, eight_bits, dtypes)
  return dtypes
}
function is_key(part) { return part ~ /^(require|witness|exempt|effort|domain) / }
function judge(text,   head, part, parts, n, i, words, word, field, contract, class, key) {
  if (!match(text, /: /)) fail("need OP DTYPE...: CONTRACT in '" text "'")
  head = substr(text, 1, RSTART - 1)
  n = split(substr(text, RSTART + 2), parts, /; */)
  words = split(all_of(head), word, " ")
  split("", field)
  split(parts[2], part, " ")
  field["expected"] = part[1]
  field["class"] = class = part[2]
  i = 3
  if (class != "" && part[1] ~ /fail|crash|timeout/) {
    field["property"] = parts[i] ~ /^[A-Z]/ ? parts[i++] : class in usual ? usual[class] : "EveryValueLiesWithinItsThreshold"
    field["claim"] = i <= n && !is_key(parts[i]) ? parts[i++] : usual_claim(word[1], field["property"], part[1])
    field["claim"] = whole_claims(word[1], field["claim"])
  }
  for (; i <= n; i++) {
    if (!is_key(parts[i])) fail("need require, witness, exempt, effort or domain, got '" parts[i] "'")
    key = parts[i]
    sub(/ .*/, "", key)
    field[key] = substr(parts[i], length(key) + 2)
  }
  sub(/^plain masked=/, "exp=1ulp sum=sequential masked=", parts[1])
  sub(/^plain/, "exp=1ulp sum=sequential masked=nan", parts[1])
  for (i = 2; i <= words; i++) {
    contract = (parts[1] ~ /^acc=/ ? "" : "acc=" (word[i] == "f64" ? "f64" : "f32") " ") parts[1]
    rows[++count] = word[1] "\t" word[i] "\t" contract "\t" either("require", field) "\t" field["expected"] "\t" \
      either("class", field) "\t" either("property", field) "\t" either("claim", field) "\t" either("witness", field) "\t" \
      either("exempt", field) "\t" either("effort", field) "\t" either("domain", field)
  }
}
function either(key, field) { return field[key] == "" ? "-" : field[key] }
function end_row() {
  if (row != "") judge(row)
  row = ""
}
FILENAME ~ /\.h$/ {
  if ($1 ~ /^SOFTCHECK_DTYPE_/) eight_bits = eight_bits (eight_bits == "" ? "" : " ") tolower(substr($1, 17))
  next
}
FNR == 1 {
  if (row != "" || count > 0) fail("rows without a kernel at the end of the file before")
  library = "softcheck_zoo"
  if (FILENAME ~ /\/intruders\//) library = "softcheck_intruders"
  if (FILENAME ~ /\/loading\//) {
    library = FILENAME
    sub(/.*\//, "softcheck_", library)
    sub(/\.cpp$/, "", library)
  }
}
FILENAME ~ /\.tsv$/ { if ($1 !~ /_(strict|emulated|cuda)_kernels$/) print; next }
/^\/\/ @judged / { end_row(); row = substr($0, 12); next }
row != "" && /^\/\/ / { row = row " " substr($0, 4); next }
{ end_row() }
/^(SOFTCHECK_MUTANT |[A-Z0-9_]*(BUG|CORRECT)\()/ {
  symbol = $0
  sub(/^[A-Z0-9_]*[ (]/, "", symbol)
  sub(/[,()].*/, "", symbol)
  if (count == 0) fail("need a line '// @judged ...' above it")
  for (i = 1; i <= count; i++) print library "\t" symbol "\t" rows[i]
  count = 0
}
END {
  if (failed) exit 1
  end_row()
  if (count > 0) fail("rows without a kernel")
}
