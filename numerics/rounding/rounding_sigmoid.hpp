#pragma once

#include <cstdint>

#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_model.hpp"

namespace softcheck::numerics {

/// One key of sigmoid attention: the score x = s + b, and its coefficient 1 / (1 + e^-x). Upper bounds, except x, which
/// is rounded to nearest.
struct SigmoidKey {
  double x = 0;
  UpperBound size;         // |x|
  UpperBound bias;         // |b|
  UpperBound score_error;  // of s as computed
  UpperBound coefficient;  // 1 / (1 + e^-x)
};

/// The thresholds of one query of sigmoid attention, in the letters of docs/ops/sigmoid_attention.md.
class SigmoidThreshold {
 public:
  /// height    of the sum of weighted values
  SigmoidThreshold(const Contract& contract, std::uint64_t height);

  /// A key's part of the error of a column, per unit of its |v|, without underflow.
  UpperBound key_error(const SigmoidKey& key) const;
  /// The threshold of a column.
  ///
  /// terms    sum key_error |v|      magnitude    sum |v|      output    |exact|
  ScalarThreshold<UpperBound> column(const UpperBound& terms, const UpperBound& magnitude, std::uint64_t keys,
                                     const UpperBound& output) const;
  /// The error of a stored sigmoid of an exact logit x, without a bias.
  ScalarThreshold<UpperBound> weight_error(SigmoidKey key) const;
  /// A column of that size or less has no accuracy: the absolute errors are at least half of it.
  UpperBound resolution(const UpperBound& magnitude) const { return UpperBound(2) * absolute_ * magnitude; }
  /// How far a column may lie beyond what coefficients in [0, 1] give, whatever the scores' errors.
  UpperBound excess(const UpperBound& magnitude, std::uint64_t keys) const;

 private:
  Contract contract_;
  OperationModel<UpperBound> model_;
  UpperBound argument_;  // t
  UpperBound own_;       // r
  UpperBound absolute_;  // a, of sigmoid=tanh
  UpperBound lost_weight_, lost_addend_;
};

}  // namespace softcheck::numerics
