#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <span>
#include <vector>

#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/softmax_bounds.hpp"

/// Kernels that choose items of a row by computed coefficients.
namespace softcheck::numerics::simulated {

using Items = std::vector<std::size_t>;

/// The items of the largest values first, of equal ones in their order.
inline Items descending_items(std::span<const double> values) {
  Items order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

template <class Threshold>
Threshold selection_threshold(const Contract& contract, std::span<const double> logits, double theta = 1) {
  return {contract, statistics_of(contract, RowOracle(logits, theta), logits, theta)};
}

inline const std::vector<BoundSetting> selection_settings{
    {Format::f32, Format::f32, "acc=f32 exp=1ulp", 0.3},
    {Format::f32, Format::f32, "acc=f32 exp=E:50,A:3 subnormal=kept sum=tree", 0.3},
    {Format::f64, Format::f64, "acc=f64 exp=1ulp", 0.3},
    {Format::bf16, Format::f32, "acc=f32 exp=1ulp weights=bf16", 0.3},
    {Format::bf16, Format::bf16, "acc=f32 exp=1ulp", 0.3},
    {Format::f16, Format::f16, "acc=f16 exp=1ulp sum=tree", 0.3},
    {Format::bf16, Format::f32, "acc=bf16 exp=1ulp sum=tree", 0.3},
};

/// Rows, the last one of neighbours in the format, whose coefficients change places.
inline std::vector<tests::NamedRow> selection_rows(Format format, std::size_t n) {
  std::vector<tests::NamedRow> rows = tests::rows_in(format, n, 11, 1e4);
  std::vector<double> close;
  for (std::size_t i = 0; i < n; ++i) {
    close.push_back(round_to(format, 1 - static_cast<double>(i % 7) * properties(format).unit_roundoff));
  }
  rows.push_back({"neighbours", std::move(close)});
  return rows;
}

/// Two passes, and an online kernel that computes its numerators again and multiplies by 1 / S.
template <class Visit>
void for_each_selecting_kernel(double theta, const Visit& visit) {
  for (const Errors errors : {Errors::nearest, Errors::up, Errors::down, Errors::random, Errors::up_below_one}) {
    for (const bool other : {false, true}) {
      visit(errors, Plan{.online = other, .recompute = other, .reciprocal = other, .theta = theta});
    }
  }
}

using ProjectionRow = std::vector<double>;

/// Rows of one length of which some share the support, some do not.
inline std::vector<ProjectionRow> projection_rows(Format format, std::size_t n, std::initializer_list<double> scales) {
  std::vector<ProjectionRow> rows;
  for (const double scale : scales) {
    for (tests::NamedRow& row : tests::rows_in(format, n, 5, 1e4, scale)) rows.push_back(std::move(row.logits));
  }
  return rows;
}

inline ProjectionRow descending(ProjectionRow row) {
  std::ranges::sort(row, std::greater<>());
  return row;
}

inline std::size_t visible_items(const ProjectionRow& row) {
  return static_cast<std::size_t>(std::ranges::count_if(row, [](double x) { return std::isfinite(x); }));
}

/// What a kernel computes that sorts, adds one after the other and stops at the first item outside the support.
struct Projected {
  ProjectionRow values;
  std::size_t support = 0;
};

/// x - m as a kernel computes it; a masked item stays masked.
inline ProjectionRow less_the_maximum(const Arithmetic& a, ProjectionRow row) {
  for (double& x : row) x = std::isfinite(x) ? a.round(x) : x;
  const double maximum = *std::ranges::max_element(row);
  for (double& x : row) x = std::isfinite(x) ? a.subtract(x, maximum) : x;
  return row;
}

/// The visible coefficients of a row against their bounds, of the support that the kernel found.
template <class Bound>
void judge_projection(const char* name, const Bound& bound, const ProjectionRow& logits, const Projected& got,
                      BoundShares& shares) {
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) shares.judge(name, got.values[i], bound.oracle.value(i), bound.at(i));
  }
}

/// Logits that the accumulator cannot hold: each is rounded on its way in.
template <class Bound, class Kernel>
void expect_conversion_needed(const Kernel& kernel) {
  const PrecisionScope scope(113);
  const ProjectionRow logits{1000.25, 1000, 999.875};
  const Contract contract = parse_contract("acc=bf16 sum=sequential", Format::f32, Format::bf16);
  const Contract held = parse_contract("acc=bf16 sum=sequential", Format::bf16, Format::bf16);
  const Projected got = kernel(Arithmetic(contract, Errors::nearest), logits);
  BoundShares right, wrong;
  judge_projection("right", Bound(contract, logits, got.support), logits, got, right);
  const Bound without(held, logits, got.support);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    wrong.raise("wrong", used(got.values[i], without.oracle.value(i), without.at(i)));
  }
  EXPECT_GT(wrong.of("wrong"), 1);
}

}  // namespace softcheck::numerics::simulated
