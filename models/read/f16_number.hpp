#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace softcheck::models {

// What one in the last place is worth, for each sign and exponent of an f16: infinite where it has no number.
inline constexpr std::array<double, 64> f16_units = [] {
  std::array<double, 64> units{};
  for (std::size_t field = 0; field < 64; ++field) {
    double unit = 0x1p-24;
    for (std::size_t i = 1; i < field % 32; ++i) unit *= 2;
    if (field % 32 == 31) unit = std::numeric_limits<double>::infinity();
    units[field] = field < 32 ? unit : -unit;
  }
  return units;
}();

/// The f16 at an address: infinite or NaN where it is one of them, though not which.
inline double f16_number(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  const unsigned hidden = (bits & 0x7c00) != 0 ? 0x400 : 0;
  return static_cast<int>((bits & 0x3ff) | hidden) * f16_units[bits >> 10];
}

}  // namespace softcheck::models
