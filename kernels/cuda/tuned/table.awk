# awk -f table.awk FILE.tsv...: the lines of a table of TunedLayout (kernels/block/abi/tree_layouts.hpp). A file begins with
# "device NAME CAPABILITY MULTIPROCESSORS KHZ", the last of the memory; each other line is "OP DTYPE FIRST LAST held|parts WARPS"
# or "... cluster|grid BLOCKS". Tabs part the fields.
BEGIN {
  FS = "\t"
  number = "^[1-9][0-9]*$"
}
function wrong(need) { printf "%s:%d: need %s, got \"%s\"\n", FILENAME, FNR, need, $0 >"/dev/stderr"; exit 1 }
FNR == 1 {
  if ($1 != "device" || NF != 5 || $3 !~ number || $4 !~ number || $5 !~ number) wrong("device NAME CAPABILITY MULTIPROCESSORS KHZ")
  device = "{" $3 ", " $4 ", " $5 "}"
  next
}
NF != 6 || $1 !~ /^(softmax|log_softmax|logsumexp|entropy|adaptive_softmax|(log_)?softmax_backward|cross_entropy(_backward)?)$/ || $2 !~ /^(f32|f16|bf16)$/ ||
$3 !~ number || $4 !~ number || length($4) > 18 || $3 + 0 > $4 + 0 ||
($5 " " $6) !~ /^((held|parts) (1|2|4|8|16)|(cluster|grid) (2|4|8)|grid (16|32|64|128))$/ {
  wrong("OP DTYPE FIRST LAST held|parts WARPS, or cluster|grid BLOCKS")
}
{
  layout = ($5 ~ /^(held|cluster)$/ ? "true" : "false") ", " ($5 ~ /^(held|parts)$/ ? $6 : "16, " $6)
  printf "{%s, \"%s\", \"%s\", %s, %s, {%s}},\n", device, $1, $2, $3, $4, layout
}
