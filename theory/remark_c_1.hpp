#pragma once

#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/scalar.hpp"
#include "theory/small_transformer.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::theory {

// Remark C.1: the spreads in the layers after a dispersed layer. Let two rows of coefficients see i <= k items,
// those of the first being among those of the second, each coefficient within [e^-d/i, e^d/i] and [e^-d/k, e^d/k]
// (Lemma 2.1 with d = delta/theta), and let the values have |v| <= B. With r = i/k their outputs differ by at most
//
//   ((2 - r) e^d - r e^-d) B:
//
// over the i common items the coefficients differ by at most e^d/i - e^-d/k each (which is >= e^d/k - e^-d/i), and the
// k - i others weigh at most e^d/k each.
//
// BERT (r = 1)   (e^d - e^-d) B. Where the layer is fully dispersed, d = 0, all outputs are equal; without residual
//                connections so are all inputs of the next layer, its keys and its queries: delta = 0 there, its
//                coefficients are 1/n, and so on through every later layer.
// GPT            at d = 0 it is 2 (1 - r) B: row i is the mean of its prefix, rows far apart differ, and later layers
//                do keep a spread; only neighbours late in the sequence become alike.
// residual       y_i - y_k = x_i - x_k + the difference above: the inputs' spread stays, for any attention.

/// k times the bound above for B = 1: (2 k - i) e^d - i e^-d.
template <Scalar T>
T scaled_row_disagreement(const T& d, const T& shorter, const T& longer) {
  return (T(2) * longer - shorter) * exp(d) - shorter * exp(-d);
}

/// A rule for k times the bound; the checks take one, so that a wrong one can be seen to fail.
using RowBound = numerics::Enclosure (*)(const numerics::Enclosure& d, const numerics::Enclosure& shorter,
                                         const numerics::Enclosure& longer);

/// remark_c_1.outputs: for each head, all pairs of rows; d the head's observed spread over theta, B its largest |v|.
std::vector<numerics::Certificate> certify_row_outputs(TraceLadder& trace, RowBound bound = scaled_row_disagreement);

/// remark_c_1.residual: for each layer of a network with residual connections, all pairs of tokens before the MLP:
/// |y_i - y_k| <= |x_i - x_k| + sum over heads of the bound. Empty for other networks.
std::vector<numerics::Certificate> certify_residual_outputs(TraceLadder& trace,
                                                            RowBound bound = scaled_row_disagreement);

/// remark_c_1.next_spread: for each layer but the last, the logits of each head of the next layer, all queries and
/// pairs of items: |q . (k_i - k_k)| <= ||K^T q||_1 G (|x_i - x_k| (residual only) + sum over heads of the bound), G
/// the Lipschitz constant of the MLP: without residuals the spread of a layer after a dispersed one vanishes with d.
std::vector<numerics::Certificate> certify_next_spread(TraceLadder& trace, RowBound bound = scaled_row_disagreement);

/// remark_c_1.fully_dispersed: the first layer's coefficients all set to 1/(items seen), for each head and all pairs:
/// BERT: outputs equal, exactly (a bound of 0); GPT: |z_i - z_k| <= 2 (1 - i/k) B.
std::vector<numerics::Certificate> certify_fully_dispersed(TraceLadder& trace,
                                                           RowBound bound = scaled_row_disagreement);

/// remark_c_1.later_spread: BERT without residual connections, the first layer's coefficients set to 1/n: the spread of
/// every head of every later layer is 0, exactly. Empty for other networks.
std::vector<numerics::Certificate> certify_later_spread(TraceLadder& trace);

/// All of the above that apply to the network.
std::vector<numerics::Certificate> check_remark_c_1(const SmallTransformer& model, const std::vector<Run>& runs);

}  // namespace softcheck::theory
