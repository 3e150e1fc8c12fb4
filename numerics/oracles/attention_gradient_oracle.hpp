#pragma once

#include <span>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"

namespace softcheck::numerics {

/// What one query has in attention's gradient: with p its softmax, g_j = <dO, v_j> and delta = sum p g, the gradient of
/// its scores scale <q, k_j>: dS_j = p_j (g_j - delta), times 1 - tanh(score / softcap)^2 under a softcap. (dq = scale
/// sum dS k; what the query adds to dk_j is scale dS_j q, to dv_j p_j dO.) A loss on the log-sum-exp, too, has a
/// gradient dL by it: dS_j = p_j (g_j - delta + dL).
struct QueryGradient {
  std::vector<Enclosure> coefficients;     // (n) p
  std::vector<Enclosure> score_gradients;  // (n) dS
  std::vector<Enclosure> bias_gradients;  // (n) p (g - delta): dS without a softcap's slope, as a bias stands behind it
  Enclosure sink_gradient;                // p_sink (dL - delta) of a sink, whose g is 0; 0 without one
};

/// Enclosures at the working precision.
///
/// inputs         at least one visible item, or a sink
/// out_gradient   (dv) dO, finite
/// lse_gradient   dL, finite
/// throws         std::invalid_argument when shapes disagree or an input is not finite
QueryGradient query_gradient(const AttentionInputs& inputs, std::span<const double> out_gradient,
                             double lse_gradient = 0);

}  // namespace softcheck::numerics
