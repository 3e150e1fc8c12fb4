#pragma once

// An op that no table of ops names: toy_op_test.cpp judges it by its object, additions.py adds it to a copy of the
// tree.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

inline constexpr std::uint32_t scaled_sum_number = 4242;

// factor sum x, the factor one for each row.
class ScaledSumElements : public RowElements {
 public:
  explicit ScaledSumElements(const RowInputs& row) : row_(row) {
    const numerics::FormatProperties& accumulator = numerics::properties(row.contract.accumulator);
    // A product, the additions, a product's reading: each (1 + delta) or its inverse.
    const numerics::UpperBound step = numerics::minus_log1m(numerics::UpperBound(accumulator.unit_roundoff));
    numerics::UpperBound magnitude, steps;
    for (const double x : row.logits) magnitude = magnitude + numerics::UpperBound(std::fabs(x));
    const std::uint64_t roundings = numerics::summation_height(row.contract, row.logits.size()) + 2;
    for (std::uint64_t k = 0; k < roundings; ++k) steps = steps + step;
    const numerics::UpperBound size = magnitude * numerics::UpperBound(std::fabs(row.auxiliary[0][0]));
    // A sum of numbers of a format is never below its smallest; a product with a power of two may be.
    const numerics::UpperBound floor(numerics::properties(row.contract.output).smallest_subnormal);
    threshold_ = (numerics::expm1(steps) * size + floor).value();
    relative_ = (numerics::expm1(steps) * size).value();
    promised = std::isfinite(threshold_) && size.value() < accumulator.largest / 4;
    if (!promised) threshold_ = numerics::infinity;
    // Terms that cancel leave no more than their own accuracy.
    resolution = relative_;
  }

  std::string_view claim() const override { return "kernel.scaled_sum.value"; }
  numerics::Enclosure value(std::size_t) override {
    numerics::Enclosure sum(0);
    for (const double x : row_.logits) sum += numerics::Enclosure(x);
    return sum * numerics::Enclosure(row_.auxiliary[0][0]);
  }
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(relative_, magnitude); }

 private:
  const RowInputs row_;
  double threshold_ = 0, relative_ = 0;
};

class ScaledSum final : public RowOp {
  static constexpr std::array roles{OpInput{Role::logits}, OpInput{Role::upstream, Extent::rows}};
  static constexpr std::array<std::string_view, 1> output_names{"output"}, claims{"kernel.scaled_sum.value"};

 public:
  constexpr ScaledSum()
      : RowOp({.name = "scaled_sum",
               .inputs = roles,
               .outputs = output_names,
               .claims = claims,
               .one_value_per_row = true,
               .has_theta = false,
               .takes_mask = false,
               .takes_infinities = false,
               .number = scaled_sum_number,
               .answers = {.masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(numerics::Format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    // Of either sign, by the row's first logit: rows of one call have factors of their own.
    const double factor = std::ldexp(1.0 + static_cast<double>(auxiliary % 2) / 2, static_cast<int>(auxiliary % 5));
    const bool negative = !logits.empty() && logits[0] < 0;
    // Sums of larger ones would overflow, of which the toy's contract says nothing.
    std::vector<double> numbers;
    for (const double x : logits) numbers.push_back(std::clamp(x, -0x1p100, 0x1p100));
    return {numbers, {negative ? -factor : factor}};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<ScaledSumElements>(row);
  }
};

}  // namespace softcheck::proptests
