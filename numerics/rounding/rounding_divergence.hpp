#pragma once

#include "numerics/rounding/rounding_model.hpp"

/// B22: the Kullback-Leibler divergence of two rows of logits, and its gradient. Derivation:
/// docs/tolerances/cross_entropy.md.
namespace softcheck::numerics {

/// One item, each an upper bound. w is the distribution that weighs the terms, v the other one.
template <class T>
struct DivergenceItem {
  T coefficient{};        // w_j
  T deviation{};          // of w: its largest logit minus this one, over theta
  T other_coefficient{};  // v_j
  T other_deviation{};
  T ratio{};  // |ln w_j - ln v_j|
};

/// |computed - exact| for kernels that take both log-probabilities as in B5 (lse=), subtract them, weigh each
/// difference by w_j (as in B2, or the exponential of its log-probability), and add in the order of sum=.
///
/// contract   acc, exp, sum, subnormal, lse, weights, total, input, output
template <class T>
class DivergenceThreshold {
 public:
  DivergenceThreshold(const Contract& contract, const RowStatistics<T>& weighing, const RowStatistics<T>& other,
                      Grants grants = Grants::all);

  /// Adds this many equal items with w_j > 0.
  void add(const DivergenceItem<T>& item, double count);

  /// Of the divergence, after all items.
  ScalarThreshold<T> divergence(const T& magnitude) const;
  /// Of upstream (v_j - w_j), the forward gradient; a kernel may multiply each term.
  ///
  /// upstream     an upper bound of |upstream / theta|
  /// difference   of |v_j - w_j|
  ScalarThreshold<T> difference(const DivergenceItem<T>& item, const T& upstream, const T& difference) const;
  /// Of upstream w_j (ln w_j - ln v_j - K), the reverse gradient, after all items. A kernel may add 1 to the logarithms
  /// and to K, and multiply each term.
  ///
  /// divergence   of |K|
  /// magnitude    of the value
  ScalarThreshold<T> element(const DivergenceItem<T>& item, const T& upstream, const T& divergence,
                             const T& magnitude) const;

 private:
  struct Side {
    Side(const Contract& contract, const RowStatistics<T>& row, const OperationModel<T>& model, Grants grants);
    T relative(const T& deviation) const { return maximum(plain.relative(deviation), power.relative(deviation)); }
    T lost() const { return maximum(plain.floor, power.floor); }
    LinearThreshold<T> logarithm;
    ElementThreshold<T> plain, power;  // of a coefficient; as e^(log-probability)
  };
  T ratio_error(const DivergenceItem<T>& item) const {
    return weighing_.logarithm.at(item.deviation) + other_.logarithm.at(item.other_deviation);
  }
  // The terms |ratio| + more of the sum: magnitudes, errors and what underflow loses.
  struct Sum {
    T magnitude{}, error{}, lost{};
  };
  void add_to(Sum& sum, const DivergenceItem<T>& item, double count, int more) const;

  OperationModel<T> model_;
  Side weighing_, other_;
  T height_;   // roundings of a sum, and three more
  T factors_;  // roundings of a gradient's factors
  Sum plain_, moved_;
};

}  // namespace softcheck::numerics
