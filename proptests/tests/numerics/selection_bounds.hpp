#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

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

}  // namespace softcheck::numerics::simulated
