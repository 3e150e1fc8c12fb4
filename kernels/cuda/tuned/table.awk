# awk -f table.awk FILE.tsv...: the lines of a table of TunedLayout (kernels/block/abi/tree_layouts.hpp). A file begins with
# "device NAME CAPABILITY MULTIPROCESSORS"; each other line is "OP DTYPE FIRST LAST held|parts WARPS". Tabs part the fields.
BEGIN { FS = "\t" }
function wrong(need) { printf "%s:%d: need %s, got \"%s\"\n", FILENAME, FNR, need, $0 >"/dev/stderr"; failed = 1; exit 1 }
FNR == 1 {
  if ($1 != "device" || NF != 4 || $3 $4 !~ /^[0-9]+$/) wrong("device NAME CAPABILITY MULTIPROCESSORS")
  device = $3 ", " $4
  next
}
NF != 6 || $1 !~ /^[a-z_]+$/ || $2 !~ /^(f32|f16|bf16)$/ || $3 !~ /^[0-9]+$/ || $4 !~ /^[0-9]+$/ || $5 !~ /^(held|parts)$/ || $6 !~ /^(1|2|4|8|16)$/ {
  wrong("OP DTYPE FIRST LAST held|parts WARPS")
}
{ printf "{%s, \"%s\", \"%s\", %s, %s, {%s, %s}},\n", device, $1, $2, $3, $4, $5 == "held" ? "true" : "false", $6 }
