# awk -v as=FORM -f kernel_contracts.awk softcheck_kernel.h contracts.tsv: what each kernel of ours promises, and the peers and examples.
#
#   rows    in the form of kernels/ZOO.tsv, a row for each symbol and dtype; acc= is the dtype's own
#   inc     the same as initializers in C++, without acc=, and whether `softcheck verify` judges it
#   page    a Markdown table of the libraries that match the regular expression `of`
#
# A line `let NAME WORDS` names words of a contract. In a library and its symbols MACHINE stands for strict, emulated and
# cuda, GPU for the latter two, and OP for the op; in a contract DTYPE stands for the dtype, and a word after `f64:` replaces
# the word before it in f64. Of dtypes 8bits stands for all that the header gives a code. Rows omit dtypes in parentheses: the kernel promises the same in them, but no test judges it.
BEGIN { FS = "\t" }
function fail(why) {
  printf "kernel_contracts: %s:%d: %s\n", FILENAME, FNR, why >"/dev/stderr"
  exit 1
}
function with(text, name, value) {
  gsub(name, value, text)
  return text
}
function words_of(contract,   word, n, i, text) {
  n = split(contract, word, " ")
  for (i = 1; i <= n; i++) {
    if (word[i] !~ /=/ && !(word[i] in named)) fail("no 'let' names '" word[i] "'")
    text = text (i > 1 ? " " : "") (word[i] in named ? named[word[i]] : word[i])
  }
  return text
}
function row(library, symbol, op, dtype, contract,   verified) {
  contract = with(with(contract, dtype == "f64" ? "[^ ]+ f64:" : " f64:[^ ]+", ""), "DTYPE", dtype)
  if (as == "rows") {
    print library, symbol, op, dtype, "acc=" (dtype == "f64" ? "f64 " : "f32 ") contract, $6, "pass", "-", "-", "-", "-", $7, "-", $8
  } else {
    verified = index(" " $9 " ", " " dtype " ") ? "true" : "false"
    printf "{\"%s\", \"%s\", \"%s\", \"%s\", \"%s\", \"%s\", \"%s\", %s},\n", library, symbol, op, dtype, contract,
      $7 == "-" ? "" : $7, $8 == "-" ? "" : $8, verified
  }
}
function rows(library, symbols,   symbol, op, dtype, s, o, d, i, j, k) {
  s = split(symbols, symbol, " ")
  o = split($3, op, " ")
  d = split(as == "rows" ? with($4, " ?[(].*[)]", "") : with($4, "[()]", ""), dtype, " ")
  for (i = 1; i <= s; i++) {
    for (j = 1; j <= o; j++) {
      for (k = 1; k <= d; k++) row(library, with(symbol[i], "OP", op[j]), op[j], dtype[k], contract)
    }
  }
}
function quoted(list, separator) { return "`" with(list, separator, "`, `") "`" }
function page(   symbols, symbol, op, s, o, i, j, dtypes) {
  s = split($2, symbol, " ")
  o = split($3, op, " ")
  for (i = 1; i <= s; i++) {
    for (j = 1; j <= o; j++) symbols = symbols (symbols == "" ? "" : " ") with(symbol[i], "OP", op[j])
  }
  dtypes = with($4, "[()]", "")
  gsub(/MACHINE|GPU/, "*", symbols)
  printf "| %s | %s | %s | `%s` | %s | %s |\n", quoted(symbols, " "), with($3, " ", ", "),
    split(dtypes, symbol, " ") == split("f64 f32 f16 bf16 " eight_bits, symbol, " ") ? "all" : with(dtypes, " ", ", "), contract, with($6, ",", ", "), $8 == "-" ? "all" : "`" $8 "`"
}
FILENAME ~ /\.h$/ {
  if (sub(/^ *SOFTCHECK_DTYPE_/, "") && sub(/ .*/, "")) eight_bits = eight_bits (eight_bits == "" ? "" : " ") tolower($0)
  next
}
FNR == 1 {
  OFS = FS
  if (as == "rows") print "library", "symbol", "op", "dtype", "contract", "require", "expected", "class", "property", "claim", "witness", "exempt", "effort", "domain"
  if (as == "page") print "| symbol | op | dtypes | contract | also | calls |\n|---|---|---|---|---|---|"
  next
}
$1 == "let" { named[$2] = $3; next }
{
  if (NF != 9) fail("need 9 columns, got " NF)
  $4 = with($4, "8bits", eight_bits)
  contract = words_of($5)
  if (as == "page") {
    if ($1 ~ of) page()
    next
  }
  machines = split($1 ~ /MACHINE/ ? "strict emulated cuda" : $1 ~ /GPU/ ? "emulated cuda" : "-", machine, " ")
  for (m = 1; m <= machines; m++) rows(with($1, "MACHINE|GPU", machine[m]), with($2, "MACHINE|GPU", machine[m]))
}
