# awk -f zoo_table.awk SHIPPED.tsv SOURCE...: the rows of the zoo, from the comments beside its kernels.
#
#   // @judged OP DTYPE...: CONTRACT; VERDICT CLASS; PROPERTY; CLAIM; KEY VALUE; ...
#   SOFTCHECK_MUTANT symbol(...
#
# A row for each dtype; kernels/README.md says what the columns are. A contract without acc= has the dtype's own. A correct
# kernel has neither class, property nor claim. KEY is require, witness, exempt, effort or domain. SHIPPED.tsv has the rows
# of other libraries, as they are, and the columns' names.
function fail(why) {
  printf "zoo_table: %s: %s: %s\n", FILENAME, why, $0 >"/dev/stderr"
  failed = 1
  exit 1
}
function judge(text,   head, part, parts, n, i, words, word, field, contract) {
  if (!match(text, /: /)) fail("need OP DTYPE...: CONTRACT in '" text "'")
  head = substr(text, 1, RSTART - 1)
  n = split(substr(text, RSTART + 2), parts, /; */)
  split("", field)
  split(parts[2], word, " ")
  field["expected"] = word[1]
  field["class"] = word[2] == "" ? "-" : word[2]
  field["property"] = word[2] == "" ? "-" : parts[3]
  field["claim"] = word[2] == "" ? "-" : parts[4]
  for (i = word[2] == "" ? 3 : 5; i <= n; i++) {
    if (parts[i] !~ /^(require|witness|exempt|effort|domain) /) fail("need require, witness, exempt, effort or domain, got '" parts[i] "'")
    part = parts[i]
    sub(/ .*/, "", part)
    field[part] = substr(parts[i], length(part) + 2)
  }
  words = split(head, word, " ")
  for (i = 2; i <= words; i++) {
    contract = (parts[1] ~ /^acc=/ ? "" : "acc=" (word[i] == "f64" ? "f64" : "f32") " ") parts[1]
    rows[++count] = word[1] "\t" word[i] "\t" contract "\t" either("require", field) "\t" field["expected"] "\t" \
      field["class"] "\t" field["property"] "\t" field["claim"] "\t" either("witness", field) "\t" either("exempt", field) \
      "\t" either("effort", field) "\t" either("domain", field)
  }
}
function either(key, field) { return field[key] == "" ? "-" : field[key] }
function end_row() {
  if (row != "") judge(row)
  row = ""
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
FILENAME ~ /\.tsv$/ { print; next }
/^\/\/ @judged / { end_row(); row = substr($0, 12); next }
row != "" && /^\/\/ / { row = row " " substr($0, 4); next }
{ end_row() }
/^SOFTCHECK_MUTANT / {
  symbol = $2
  sub(/\(.*/, "", symbol)
  if (count == 0) fail("need a line '// @judged ...' above it")
  for (i = 1; i <= count; i++) print library "\t" symbol "\t" rows[i]
  count = 0
}
END {
  if (failed) exit 1
  end_row()
  if (count > 0) fail("rows without a kernel")
}
