#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "numerics/oracles/attention_oracle.hpp"

namespace softcheck::numerics {

/// One query's part of attention's gradient. With p its softmax, g_j = <dO, v_j> and delta = sum p g, the gradient of
/// its scores scale <q, k_j> is dS_j = p_j (g_j - delta), times 1 - tanh(score / softcap)^2 with a softcap. (dq = scale
/// sum dS k; the query adds scale dS_j q to dk_j and p_j dO to dv_j.) If the loss also depends on the log-sum-exp, with
/// gradient dL: dS_j = p_j (g_j - delta + dL). With factors f (a dropout): g_j = f_j <dO, v_j>, and the query adds f_j
/// p_j dO to dv_j.
struct QueryGradient {
  std::vector<Enclosure> coefficients;     // (n) p
  std::vector<Enclosure> score_gradients;  // (n) dS
  // (n) p (g - delta): dS without a softcap's slope, since a bias is added after it
  std::vector<Enclosure> bias_gradients;
  Enclosure sink_gradient;  // p_sink (dL - delta) of a sink, whose g is 0; 0 without a sink
};

/// Enclosures at the working precision.
///
/// inputs         at least one visible item, or a sink
/// out_gradient   (dv) dO, finite
/// lse_gradient   dL, finite
/// label          an item whose score the loss takes from the log-sum-exp: its dS has p - 1 in place of p
/// throws         std::invalid_argument if shapes disagree or an input is not finite
QueryGradient query_gradient(const AttentionInputs& inputs, std::span<const double> out_gradient,
                             double lse_gradient = 0, std::optional<std::size_t> label = {});

}  // namespace softcheck::numerics
