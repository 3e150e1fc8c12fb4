// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the numbers of adaptive temperature, as Coq
// prints them. Not to be edited.
// clang-format off
#pragma once

#include <array>

namespace softcheck::theorems {

/// In thousandths, from H^0 on.
inline constexpr std::array<long long, 5> quartic_thousandths{-1791, 4917, -2300, 481, -37};
/// Digits behind the decimal point: 5, 5, 5, 18, 18, 14, 14.
inline constexpr long long largest_beta_digits = 242139;
inline constexpr long long inactive_from_digits = 594453;
inline constexpr long long lipschitz_digits = 252543;
inline constexpr long long first_root_digits = 848581996009869285;
inline constexpr long long last_root_digits = 5944520827905142861;
inline constexpr long long top_digits = 441240186596567;
inline constexpr long long maximum_digits = 242138770663152;

}  // namespace softcheck::theorems
