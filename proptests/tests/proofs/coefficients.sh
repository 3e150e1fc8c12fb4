#!/bin/sh
# coefficients.sh PROOFS: the constants in the proofs about exp and the quartic are those of the C++ code, bit for bit:
# in Coq (certified/*.v; numerics/exponential_polynomials.v is proved equal to them) and for Gappa (numerics/gappa/*.g).
# Ends with controls: each constant changed in its last place must turn the comparison red.
set -eu
proofs=$1
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The numbers of a text, each as ODD*2^EXPONENT: hexadecimal floats, Gappa's 3b-1, decimals. Exact: no number here has
# more than the 53 bits that awk's arithmetic holds.
numbers() {
  grep -oE -- '-?(0x[0-9a-fA-F]+(\.[0-9a-fA-F]*)?p[-+]?[0-9]+|[0-9]+b[-+]?[0-9]+|[0-9]+(\.[0-9]+)?)' | awk '
    function integer(digits, base,   i, value) {
      for (i = 1; i <= length(digits); i++) value = value * base + index("0123456789abcdef", substr(digits, i, 1)) - 1
      return value
    }
    {
      text = tolower($0); sign = ""; exponent = 0
      if (sub(/^-/, "", text)) sign = "-"
      if (sub(/^0x/, "", text)) {
        split(text, part, "p"); split(part[1], half, ".")
        mantissa = integer(half[1] half[2], 16); exponent = part[2] - 4 * length(half[2]); half[2] = ""
      } else if (split(text, part, "b") == 2) {
        mantissa = integer(part[1], 10); exponent = part[2] + 0
      } else if (sub(/\.0$/, "", text) || text !~ /\./) {
        mantissa = integer(text, 10)
      } else {
        printf "%s%s ", sign, text
        next
      }
      if (mantissa >= 2 ^ 53) { print "TOO LONG: " $0; exit 1 }
      while (mantissa != 0 && mantissa % 2 == 0) { mantissa /= 2; exponent++ }
      printf "%s%.0f*2^%d ", sign, mantissa, exponent
    }
    END { print "" }'
}
flat() { sed 's|//.*||; s|(\*[^*]*\*)||g' "$@" | tr '\n' ' '; }
# What follows NAME = in a text up to the semicolon.
defined() { grep -oE "[^a-z_0-9]$1(\[[^]]*\]|> [a-z_]*)? *= *[^;]*" | head -1 | sed 's/^[^=]*=//' | numbers; }
field() { grep -oE "[^a-z_0-9]$1 := *(\[[^]]*\]|[^;|]*)" | sed 's/^[^=]*=//' | numbers; }

kernel_in_cpp() { # ROOT float|double
  text=$(sed -n "/struct ExpConstants<$2>/,/^};/p" "$1/kernels/arithmetic/exp_constants.hpp" | flat)
  for name in log2_e rounder ln2_high ln2_low q lowest; do echo "$text" | defined $name; done
}
filter_in_cpp() { # ROOT
  lanes=$(flat "$1/numerics/filter/row_lanes.inl" "$1/numerics/filter/filter_lanes.inl")
  stages=$(flat "$1/numerics/filter/row_stages.hpp")
  for name in log2_e rounding_shift ln_2_first ln_2_rest; do echo "$lanes" | defined $name; done
  echo "$stages" | grep -oE 'exponential_coefficients = \{[^}]*' | sed 's/^[^=]*=//' | numbers
  echo "$stages" | defined largest_deviation | sed 's/^/-/'
}
in_coq() { # PROOFS NAME
  text=$(sed -n "/^Definition $2 : exponential/,/^|}/p" "$1/certified/exponentials.v" | flat)
  for name in log2_e rounder ln2_high ln2_low coefficients lowest; do echo "$text" | field $name; done
}
in_gappa() { # PROOFS NAME: the coefficients c0, c1, ...
  grep -oE '^c[0-9]+ = [^;]*' "$1/numerics/gappa/$2.g" | sed 's/.*= //' | numbers
}
quartic_in_gappa() { # PROOFS, from the constant coefficient, in thousandths as Coq has it
  grep -oE 'c[0-9] = rnd\([^)]*' "$1/numerics/gappa/quartic.g" | LC_ALL=C sort | sed 's/.*(//' |
    awk '{ printf "%.0f\n", 1000 * $1 }' | numbers
}
quartic_in_coq() {
  grep -E '^Definition quartic ' "$1/quartic.v" | sed 's/.*:= (//; s|) / 1000.*||; s/H//g' | numbers
}

same() { # WHAT FILE FILE
  [ "$(grep -c . "$2")" -gt 0 ] && ! grep -q '^ *$' "$2" && diff "$2" "$3" >"$work/difference" && return
  echo "$1 differ:"
  cat "$work/difference"
  return 1
}
compare() { # ROOT PROOFS
  kernel_in_cpp "$1" float >"$work/f32"; kernel_in_cpp "$1" double >"$work/f64"; filter_in_cpp "$1" >"$work/filter"
  quartic_in_coq "$2" >"$work/quartic"
  for pair in exp_f32:f32:cpu_binary32 exp_f64:f64:cpu_binary64 filter_constants:filter:filter; do
    coq=${pair%%:*} gappa=${pair##*:} cpp=$(echo "$pair" | cut -d: -f2)
    in_coq "$2" "$coq" >"$work/coq"
    same "C++ and $coq of certified/exponentials.v" "$work/$cpp" "$work/coq" || return 1
    sed -n 5p "$work/$cpp" >"$work/coefficients"
    in_gappa "$2" "${gappa}_exponential" >"$work/gappa"
    same "C++ and numerics/gappa/${gappa}_exponential.g" "$work/coefficients" "$work/gappa" || return 1
  done
  quartic_in_gappa "$2" >"$work/gappa"
  same "quartic.v and numerics/gappa/quartic.g" "$work/quartic" "$work/gappa" || return 1
}

compare "$root" "$proofs"
cat "$work/f32" "$work/f64" "$work/filter" "$work/quartic" | wc -w | sed 's/ *$/ constants/'

# The controls, on a copy that the comparison accepts.
copy() {
  rm -rf "$work/root" && mkdir -p "$work/root/kernels/arithmetic" "$work/root/numerics/filter" "$work/root/proofs"
  for file in kernels/arithmetic/exp_constants.hpp numerics/filter/row_lanes.inl numerics/filter/filter_lanes.inl numerics/filter/row_stages.hpp; do
    cp "$root/$file" "$work/root/$file"
  done
  cp -r "$proofs/certified" "$proofs/numerics" "$proofs/quartic.v" "$work/root/proofs/"
}
planted() { # FILE FROM TO
  copy
  sed -i "s/$2/$3/" "$work/root/$1"
  if ! grep -q -e "$3" "$work/root/$1" || compare "$work/root" "$work/root/proofs" >/dev/null; then
    echo "$1 with $3 for $2 was not noticed"
    exit 1
  fi
}
copy
compare "$work/root" "$work/root/proofs"
planted kernels/arithmetic/exp_constants.hpp 0x1.1239e4p-7 0x1.1239e6p-7
planted kernels/arithmetic/exp_constants.hpp 0x1.7f7d1cp-20 0x1.7f7d1ep-20
planted kernels/arithmetic/exp_constants.hpp 0x1.1e3d3231467cep-29 0x1.1e3d3231467cfp-29
planted kernels/arithmetic/exp_constants.hpp '512 + 1023' '512 + 1022'
planted kernels/arithmetic/exp_constants.hpp '= -760.0' '= -761.0'
planted numerics/filter/row_stages.hpp 0x1.a019ab342ffffp-16 0x1.a019ab342fffep-16
planted numerics/filter/row_stages.hpp 'largest_deviation = 700' 'largest_deviation = 701'
planted numerics/filter/row_lanes.inl 0x1.62e42fefa3800p-1 0x1.62e42fefa3900p-1
planted numerics/filter/row_lanes.inl 0x1.8p52 0x1.9p52
planted numerics/filter/filter_lanes.inl 0x1.ef35793c76730p-45 -0x1.ef35793c76730p-45
planted proofs/certified/exponentials.v 'log2_e := 0x1.71547652b82fep+0' 'log2_e := 0x1.71547652b82ffp+0'
planted proofs/numerics/gappa/filter_exponential.g 6004799503160577b 6004799503160578b
planted proofs/numerics/gappa/quartic.g 'rnd(4.917)' 'rnd(4.918)'
echo "every planted change noticed"
