# repeat N TEXT: so many of it in a row, through printf
repeat() { printf "$2%.0s" $(seq "$1"); }

# safetensors HEADER_FILE: what begins a safetensors file, the length of its header and the header
safetensors() {
  length=$(wc -c <"$1")
  for shift in 0 8 16 24 32 40 48 56; do printf "\\$(printf %03o $((length >> shift & 255)))"; done
  cat "$1"
}

# npy FILE DESCR SHAPE N BYTES: an array of version 1, whose header is 128 bytes long: N times BYTES, as printf has them
npy() {
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': $3, }" >"$1"
  test "$4" = 0 || repeat "$4" "$5" >>"$1"
}
