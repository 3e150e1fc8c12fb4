# The headers' comments in Doxygen's own form.
# C: the comment on a file, one before a declaration, and one behind a member.
1s,^/\* ,/** \\file\n * ,
s,^\( *\)/\* ,\1/** ,
s,\([;{\,] *\)/\* ,\1/**< ,
# C++: "/// name   what it is" is a line of a list; what goes on below it is indented.
s,^\( */// \)\([A-Za-z_][A-Za-z0-9_.\,()<>]*\( [A-Za-z0-9_.\,()<>]\{1\,\}\)*\)   *\([^ ]\),\1- `\2` \&mdash; \4,
