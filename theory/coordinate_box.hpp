#pragma once

#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "theory/small_transformer.hpp"

namespace softcheck::theory {

/// A box in activation space: one interval for each coordinate. Theorem 2.2 needs no convex hull, only boxes: a
/// continuous map is bounded on a box, and convex combinations stay in it.
using Box = std::vector<numerics::Enclosure>;

/// Smallest box with all embeddings of the vocabulary.
Box embedding_box(const SmallTransformer& model);

/// A box of a head's outputs if its tokens lie in inputs. It is the box of the values, for any coefficients, mask and
/// length, because attention is a convex combination of values.
Box attention_box(const AttentionHead& head, const Box& inputs);

/// A box of the outputs of a whole layer: attention, residual and MLP, the MLP by interval arithmetic.
Box layer_box(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs);

/// A box of the inputs of the layer's MLP, given one of the layer's inputs.
Box feedforward_input_box(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs);

/// Upper bound of max_{j, k} q . (k_j - k_k) over all queries and keys of tokens in inputs:
///   sum_c max |(K^T Q x)_c| width_c,
/// since q . (k_j - k_k) = (K^T Q x) . (x_j - x_k) and |x_jc - x_kc| <= width_c.
numerics::Enclosure spread_over_box(const AttentionHead& head, const Box& inputs);

/// The ends of an interval, exact if the working precision is not below its own.
numerics::Enclosure lower_end(const numerics::Enclosure& x);
numerics::Enclosure upper_end(const numerics::Enclosure& x);

/// max |x| over the interval, and its width: points, rounded up.
numerics::Enclosure magnitude(const numerics::Enclosure& x);
numerics::Enclosure width(const numerics::Enclosure& x);

/// An upper bound of |activation'| on the interval x.
numerics::Enclosure activation_slope(Activation activation, const numerics::Enclosure& x);

/// ||matrix||_inf, the largest row sum of absolute values: |matrix x|_inf <= gain |x|_inf.
numerics::Enclosure largest_row_sum(const Eigen::MatrixXd& matrix);

/// Lipschitz constant in the maximum norm of the layer's MLP (residual included) on the box inputs: by the mean value
/// theorem the largest row sum of |outer| diag(slopes) |inner|, + 1 for the residual; 1 if there is no MLP.
numerics::Enclosure feedforward_gain(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs);

}  // namespace softcheck::theory
