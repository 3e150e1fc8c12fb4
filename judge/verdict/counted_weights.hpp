#pragma once

#include <cstddef>
#include <map>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::proptests {

/// The weights of the rows that count in a call (RowOp::weight_in_call), and their sum, by which a mean divides. The
/// sum is computed once, because every row of the call needs it.
class CountedWeights {
 public:
  void add(double weight);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Summed in row order, with one rounding per weight.
  long double sum() const { return sum_; }
  /// At the working precision.
  const numerics::Enclosure& exact_sum() const;

 private:
  std::map<double, std::size_t> times_;  // weights take few values: one per class
  std::size_t size_ = 0;
  long double sum_ = 0;
  mutable std::map<unsigned, numerics::Enclosure> exact_;  // by precision
};

}  // namespace softcheck::proptests
