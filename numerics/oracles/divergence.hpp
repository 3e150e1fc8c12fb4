#pragma once

#include <cstddef>
#include <span>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// The exact Kullback-Leibler divergence of p = softmax(logits / theta) and q = softmax(teacher / theta), and its
/// gradient by the logits. Forward K = sum q (ln q - ln p), reverse K = sum p (ln p - ln q):
///  forward  dx_j = upstream (p_j - q_j) / theta
///  reverse  dx_j = upstream p_j (ln p_j - ln q_j - K) / theta.
/// Terms whose weight is 0 are 0.
///
/// error    enclosures at the working precision at construction; terms cancel
class DivergenceOracle {
 public:
  /// logits, teacher   (V) finite or -inf, V >= 1, both with a finite number
  /// throws            std::invalid_argument also if an item with a weight has the other coefficient 0: K is infinite
  DivergenceOracle(std::span<const double> logits, std::span<const double> teacher, double theta, bool reverse);

  const Enclosure& divergence() const { return divergence_; }
  Enclosure gradient(std::size_t j, const Enclosure& upstream) const;

 private:
  const RowOracle& weighing() const { return reverse_ ? student_ : teacher_; }
  const RowOracle& other() const { return reverse_ ? teacher_ : student_; }
  Enclosure ratio(std::size_t j) const;  // the logarithm of the weight over the other coefficient

  RowOracle student_, teacher_;
  double theta_;
  bool reverse_;
  Enclosure log_sums_;  // of the other row less the weighing one
  Enclosure divergence_;
};

}  // namespace softcheck::numerics
