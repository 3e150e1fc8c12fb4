#include "proptests/generators/drawing/draw.hpp"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace softcheck::proptests {

Draw::Draw(rc::Random random) : engine_(random.next()) {}

std::uint64_t Draw::below(std::uint64_t count) {
  // The high half of a 64 x 64 bit product.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits()) * count) >> 64);
}

int Draw::between(int lowest, int highest) {
  const auto count = static_cast<std::uint64_t>(static_cast<std::int64_t>(highest) - lowest + 1);
  return static_cast<int>(lowest + static_cast<std::int64_t>(below(count)));
}

double Draw::unit() { return std::ldexp(static_cast<double>(bits() >> 11), -53); }

double Draw::normal() {
  const double radius = std::sqrt(-2 * std::log1p(-unit()));
  return radius * std::cos(2 * std::numbers::pi * unit());
}

std::uint64_t Draw::log_uniform(std::uint64_t lowest, std::uint64_t highest) {
  const double from = std::log2(static_cast<double>(lowest));
  const double to = std::log2(static_cast<double>(highest) + 1);
  const auto value = static_cast<std::uint64_t>(std::exp2(from + unit() * (to - from)));
  return std::clamp(value, lowest, highest);
}

}  // namespace softcheck::proptests
