# Texts of --help, each behind a line "@verb WORDS", become bash's completions of softcheck: verbs, the names below them,
# options, and the words of an option whose explanation is their list. All else is a file's name.

function add(map, key, word) { map[key] = map[key] (map[key] == "" ? "" : " ") word }

# "f64, f32 or f16", perhaps behind "Of the logits: " -> "f64 f32 f16"; "" for any other explanation
function listed(text) {
  sub(/^[A-Za-z' ]+: /, "", text)
  sub(/;.*/, "", text)
  if (text !~ /^[a-z0-9_-]+(, [a-z0-9_-]+)+( or [a-z0-9_-]+)?$/) return ""
  gsub(/, | or /, " ", text)
  return text
}

function entry(   words, i, count, option, values) {
  if (left == "") return
  words = left
  sub(/ .*/, "", words)
  count = split(words, option, ",")
  values = listed(text)
  for (i = 1; i <= count; ++i) {
    add(options, verb, option[i])
    if (values != "") cases[verb] = cases[verb] "    \"" verb " " option[i] "\") words=\"" values "\" ;;\n"
  }
  left = text = ""
}

/^@verb/ {
  entry()
  verb = substr($0, 7)
  verbs[++number] = verb
  section = ""
  next
}
/^[A-Z][a-z]+:/ || /^$/ { entry(); section = $1; next }
section == "Subcommands:" && /^  [a-z]/ { add(names, verb, $1); next }
section != "Options:" { next }
/^  -/ {
  entry()
  left = substr($0, 3)
  if (length($0) > 30 && substr($0, 30, 1) == " ") { text = substr($0, 31); left = substr($0, 3, 27) }
  next
}
/^                              / { text = substr($0, 31) }

END {
  entry()
  print "# bash completions of softcheck(1)"
  print "_softcheck() {"
  print "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb='' words='' reply"
  print "  if [ \"$COMP_CWORD\" -gt 1 ]; then verb=${COMP_WORDS[1]}; fi"
  print "  if [ \"$COMP_CWORD\" -gt 2 ]; then verb=\"$verb ${COMP_WORDS[2]}\"; fi"
  print "  case $verb in"
  for (i = 1; i <= number; ++i) if (verbs[i] ~ / /) printf "    \"%s\") ;;\n", verbs[i]
  print "    *) verb=${verb%% *} ;;"
  print "  esac"
  print "  case \"$verb $previous\" in"
  for (i = 1; i <= number; ++i) printf "%s", cases[verbs[i]]
  print "  esac"
  print "  case \"$verb $current\" in"
  for (i = 1; i <= number; ++i) if (options[verbs[i]] != "") printf "    \"%s -\"*) words=\"%s\" ;;\n", verbs[i], options[verbs[i]]
  print "  esac"
  print "  case \"$COMP_CWORD $verb $current\" in"
  print "    *\" -\"*) ;;"
  for (i = 1; i <= number; ++i) {
    if (names[verbs[i]] != "") printf "    \"%d %s \"*) words=\"%s\" ;;\n", verbs[i] == "" ? 1 : 2, verbs[i], names[verbs[i]]
  }
  print "  esac"
  print "  COMPREPLY=()"
  print "  while read -r reply; do COMPREPLY+=(\"$reply\"); done < <(compgen -W \"$words\" -- \"$current\")"
  print "}"
  print "# Where no word fits, names of files are completed."
  print "complete -o default -F _softcheck softcheck"
}
