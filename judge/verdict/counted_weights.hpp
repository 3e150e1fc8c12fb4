#pragma once

#include <cstddef>
#include <map>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// The weights of a call's rows that count (RowOp::weight_in_call), as the sum that divides a mean: every row of the
/// call needs it, and it is added up once.
class CountedWeights {
 public:
  void add(double weight);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// In the order of the rows: as many roundings as there are weights.
  long double sum() const { return sum_; }
  /// At the working precision.
  const numerics::Enclosure& exact_sum() const;

 private:
  std::map<double, std::size_t> times_;  // weights come from a few classes
  std::size_t size_ = 0;
  long double sum_ = 0;
  mutable std::map<unsigned, numerics::Enclosure> exact_;  // by precision
};

}  // namespace softcheck::proptests
