#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/bench/gpu/tensors.hpp"

// Scores by tensor cores. NVIDIA does not document how they round when they align addends. This bound grants that each
// of the 17 addends of a step of 16 products is truncated at one part in 2^23 of the largest; all other operations
// round by IEEE 754.
namespace softcheck::kernels::gpu {

inline constexpr double u = 0x1p-24;
inline constexpr double step_error = 17 * 0x1p-23;
inline constexpr double products_of_step = 16;
inline constexpr double keys_of_tile = 32;

struct NarrowProblem {
  std::int64_t heads, queries, keys, dim, value_dim;
  bool causal;
  double scale;
};
inline constexpr NarrowProblem narrow_problems[] = {{1, 3, 40, 16, 16, false, 0.25},
                                                    {2, 70, 150, 64, 64, true, 0.125},
                                                    {1, 65, 300, 128, 128, false, 0.088388347648318447},
                                                    {1, 5, 90, 33, 100, true, 0.2}};

inline std::string text_of(const NarrowProblem& p) {
  std::ostringstream text;
  text << p.heads << " heads x " << p.queries << " queries x " << p.keys << " keys, dim " << p.dim << ", "
       << p.value_dim << (p.causal ? ", causal" : "");
  return text.str();
}

/// Of one query's keys, exactly up to double's roundings.
struct NarrowScores {
  std::vector<double> x, error;  // scores, and the largest error of the kernel's

  double largest() const { return *std::ranges::max_element(x); }
  double largest_error() const { return *std::ranges::max_element(error); }
};

inline NarrowScores scores_of(const NarrowProblem& p, const HostTensor& q, const HostTensor& k, std::int64_t head,
                              std::int64_t query) {
  const double steps = p.dim <= 64 ? 64 / products_of_step : 128 / products_of_step;
  const std::int64_t last = query + p.keys - p.queries + 1;
  NarrowScores row;
  for (std::int64_t j = 0; j < (p.causal ? std::min(last, p.keys) : p.keys); ++j) {
    double dot = 0, size = 0;
    for (std::int64_t c = 0; c < p.dim; ++c) {
      const double term = q.at(static_cast<std::size_t>((head * p.queries + query) * p.dim + c)) *
                          k.at(static_cast<std::size_t>((head * p.keys + j) * p.dim + c));
      dot += term;
      size += std::abs(term);
    }
    row.x.push_back(dot * p.scale);
    row.error.push_back(std::abs(p.scale) * steps * step_error * size + 2 * u * std::abs(dot * p.scale));
  }
  return row;
}

}  // namespace softcheck::kernels::gpu
