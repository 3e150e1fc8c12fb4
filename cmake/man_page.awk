# Texts of --help, each behind a line "@verb WORDS", become a page for man(1). Variables: date, version.

# What roff would read otherwise: a backslash, a hyphen that is to be copied, a line that begins with a dot or a quote.
function plain(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/"/, "\\(dq", text)
  return text ~ /^[.']/ ? "\\&" text : text
}

# CLI11 gives each explanation a line that begins in column 31, or behind the option's own line where that is longer.
function entry() {
  if (left == "") return
  print ".TP\n.B \"" plain(left) "\""
  if (text != "") print plain(text)
  left = text = ""
}

BEGIN {
  print ".TH SOFTCHECK 1 " date " \"softcheck " version "\" \"User Commands\""
  print ".SH NAME\nsoftcheck \\- verify softmax attention by enclosures instead of tolerances"
  print ".SH SYNOPSIS\n.B softcheck\n.I VERB\n.RI [ OPTIONS ]"
  print ".SH DESCRIPTION"
  print "softcheck decides whether a softmax or attention kernel keeps its contract, whether the claims of the theory hold,"
  print "and what bounds a trained network keeps. A verdict is a proof by enclosures: no tolerance is typed in."
  print "Each verb explains itself with\n.BR \\-\\-help ."
  print ".SH VERBS"
}

/^@verb/ {
  entry()
  verb = substr($0, 7)
  section = "head"
  next
}
section == "head" && /^Usage:/ {
  section = ""
  if (verb != "") {
    print ".SS \"" plain(substr($0, 8)) "\""
    print plain(about)
  }
  about = ""
  next
}
section == "head" { if ($0 != "") about = about (about == "" ? "" : " ") $0; next }
/^(Options|Positionals):/ { entry(); section = "entries"; next }
/^Subcommands:/ { entry(); section = verb == "" ? "" : "below"; next }
/^Exit codes: / { codes = substr($0, 13); next }
/^$/ { entry(); section = ""; next }
section == "" || (verb == "" && section == "entries") { next }
/^  [^ ]/ && section == "below" { next } # each has a part of its own
/^  [^ ]/ {
  entry()
  left = substr($0, 3)
  # The columns end where two blanks follow, or where the explanation begins in column 31.
  if (length($0) > 30 && substr($0, 30, 1) == " ") {
    text = substr($0, 31)
    left = substr($0, 3, 27)
  }
  sub(/ +$/, "", left)
  if (left == "-h,--help") left = text = ""
  next
}
/^                              / { if (left != "") text = text (text == "" ? "" : " ") substr($0, 31) }

END {
  entry()
  print ".SH EXIT STATUS"
  dot = index(codes, ". ")
  count = split(substr(codes, 1, dot ? dot - 1 : length(codes)), code, ", ")
  for (i = 1; i <= count; ++i) {
    blank = index(code[i], " ")
    print ".TP\n.B " substr(code[i], 1, blank - 1) "\n" plain(substr(code[i], blank + 1))
  }
  if (dot) print ".PP\n" plain(substr(codes, dot + 2))
  print ".SH ENVIRONMENT"
  print ".TP\n.B RC_PARAMS\nseed=NUMBER seeds the random cases where no \\-\\-seed does."
  print ".TP\n.B NO_COLOR\nWhere it is set, no verdict is coloured."
  print ".TP\n.B SOFTCHECK_EXTRACTED_JUDGE\nThe program of the proved judge, for kernel \\-\\-certify."
  print ".TP\n.B SOFTCHECK_MAX_ISA\nThe widest instruction set that the CPU kernels that ship may take, as avx2."
}
