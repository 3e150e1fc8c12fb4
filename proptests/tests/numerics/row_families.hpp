#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::tests {

struct NamedRow {
  std::string name;
  std::vector<double> logits;
};

inline constexpr double masked = -std::numeric_limits<double>::infinity();

/// Rows of one length on which a sum or an exponential would show what is wrong with it.
inline std::vector<NamedRow> row_families(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed + n);
  std::normal_distribution<double> normal(0, 3);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<NamedRow> rows;
  const auto add = [&](std::string name, auto&& value) {
    std::vector<double> logits(n);
    for (std::size_t i = 0; i < n; ++i) logits[i] = value(i);
    rows.push_back({std::move(name) + " n=" + std::to_string(n), std::move(logits)});
  };
  const double length = static_cast<double>(n);
  add("normal", [&](std::size_t) { return normal(engine); });
  add("normal f32", [&](std::size_t) { return static_cast<double>(static_cast<float>(normal(engine))); });
  add("ramp up", [&](std::size_t i) { return 20 * static_cast<double>(i) / length; });
  add("ramp down", [&](std::size_t i) { return -0.1 * static_cast<double>(i); });
  add("one-hot", [&](std::size_t i) { return i == n / 3 ? 0.0 : -690.25; });
  add("plateau", [&](std::size_t i) { return i % 3 == 0 ? 1.5 : -4.0; });
  add("uniform", [&](std::size_t) { return -0.0; });
  add("late peak", [&](std::size_t i) { return i + 1 == n ? 16.64 : unit(engine); });
  add("wide spread",
      [&](std::size_t i) { return (i % 2 ? -1 : 1) * std::ldexp(unit(engine), static_cast<int>(i % 1024)); });
  add("full range", [&](std::size_t i) { return i % 2 ? -1.7e308 : 1.7e308; });
  add("near-equal", [&](std::size_t i) { return 1 + 0x1p-52 * static_cast<double>(i % 5); });
  add("shifted up", [&](std::size_t) { return 65536 + normal(engine); });
  add("shifted down", [&](std::size_t) { return -65536 + normal(engine); });
  add("subnormal", [&](std::size_t i) { return 0x1p-1074 * static_cast<double>(i); });
  add("tiny weights", [&](std::size_t i) { return i == 0 ? 0.0 : -80 - 8 * static_cast<double>(i % 80); });
  add("masked", [&](std::size_t i) { return i % 3 == 1 ? masked : normal(engine); });
  add("all but one masked", [&](std::size_t i) { return i == n / 2 ? 7.0 : masked; });
  return rows;
}

/// The same rows as a format holds them, what is beyond a limit at the limit.
inline std::vector<NamedRow> rows_in(numerics::Format format, std::size_t n, std::uint64_t seed,
                                     double limit = std::numeric_limits<double>::max(), double scale = 1) {
  std::vector<NamedRow> rows = row_families(n, seed);
  limit = std::min(limit, numerics::properties(format).largest);
  for (NamedRow& row : rows) {
    for (double& x : row.logits) x = std::isfinite(x) ? round_to(format, std::clamp(x, -limit, limit) * scale) : x;
  }
  return rows;
}

}  // namespace softcheck::tests
