#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
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

/// A saved output and an upstream gradient, in a format.
struct GradientRow {
  std::string name;
  std::vector<double> y, g;
};

/// Upstream gradients that a softmax's gradient cancels against, or does not.
inline std::vector<GradientRow> upstream_rows(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed + n);
  std::normal_distribution<double> normal(0, 1);
  std::vector<GradientRow> rows;
  const auto add = [&](const char* name, auto&& value) {
    GradientRow row{std::string(name) + " n=" + std::to_string(n), {}, std::vector<double>(n)};
    for (std::size_t i = 0; i < n; ++i) row.g[i] = value(i);
    rows.push_back(row);
  };
  add("random g", [&](std::size_t) { return normal(engine); });
  add("constant g", [&](std::size_t) { return 0.7; });
  add("nearly constant g", [&](std::size_t) { return 1 + 1e-3 * normal(engine); });
  add("g of one item", [&](std::size_t i) { return i == n / 2 ? 1e6 : 0.0; });
  add("g of a million", [&](std::size_t i) { return i % 2 ? 1e6 : -1e6; });
  add("tiny g", [&](std::size_t i) { return i % 2 ? 1e-38 : -3e-39; });
  add("g rising", [&](std::size_t i) { return std::exp2(static_cast<double>(i % 24)); });
  return rows;
}

inline void narrow(std::vector<double>& values, numerics::Format format) {
  const double largest = numerics::properties(format).largest;
  for (double& x : values) {
    if (std::isfinite(x)) x = std::clamp(numerics::round_to(format, x), -largest, largest);
  }
}

/// Saved outputs of one kind, item by item.
using OutputKind = std::pair<const char*, std::function<double(std::size_t)>>;

/// Each upstream gradient with saved outputs of each kind.
inline std::vector<GradientRow> with_outputs(numerics::Format format, std::size_t n, std::uint64_t seed,
                                             const std::vector<OutputKind>& kinds) {
  std::vector<GradientRow> rows;
  for (const GradientRow& upstream : upstream_rows(n, seed)) {
    for (const auto& [name, value] : kinds) {
      GradientRow row{std::string(name) + ", " + upstream.name, std::vector<double>(n), upstream.g};
      for (std::size_t i = 0; i < n; ++i) row.y[i] = value(i);
      narrow(row.y, format);
      narrow(row.g, format);
      rows.push_back(row);
    }
  }
  return rows;
}

/// Saved coefficients: rows of a softmax, and numbers that are none.
inline std::vector<GradientRow> gradient_rows(numerics::Format format, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed ^ n);
  std::uniform_real_distribution<double> unit(0, 1);
  const double length = static_cast<double>(n);
  return with_outputs(format, n, seed,
                      {{"uniform y", [&](std::size_t) { return 1 / length; }},
                       {"random y", [&](std::size_t) { return 2 * unit(engine) / length; }},
                       {"one-hot y", [&](std::size_t i) { return i == n / 3 ? 1.0 : 1e-9; }},
                       {"y with zeros", [&](std::size_t i) { return i % 2 ? 0.0 : unit(engine); }},
                       {"y of any size", [&](std::size_t i) { return (i % 3 ? 3.0 : -2.0) * unit(engine); }},
                       {"subnormal y", [&](std::size_t i) { return i == 0 ? 1.0 : 1e-40 * unit(engine); }}});
}

/// Saved logarithms.
inline std::vector<GradientRow> log_gradient_rows(numerics::Format format, std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed ^ (n + 1));
  std::uniform_real_distribution<double> unit(0, 1);
  const double length = static_cast<double>(n), masked = -std::numeric_limits<double>::infinity();
  return with_outputs(format, n, seed,
                      {{"uniform y", [&](std::size_t) { return -std::log(length); }},
                       {"random y", [&](std::size_t) { return std::log(2 * unit(engine) / length); }},
                       {"one-hot y", [&](std::size_t i) { return i == n / 3 ? 0.0 : -20 - 90 * unit(engine); }},
                       {"masked y", [&](std::size_t i) { return i % 2 ? masked : -unit(engine); }},
                       {"y of any sign", [&](std::size_t i) { return (i % 3 ? 3.0 : -2.0) * unit(engine); }}});
}

}  // namespace softcheck::tests
