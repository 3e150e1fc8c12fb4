#pragma once

#include <Eigen/Core>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/bounds/head_bounds.hpp"
#include "models/bounds/token_table.hpp"

namespace softcheck::models {

/// Inputs of a sample, and what a head makes of them in doubles.
struct SampledInputs {
  std::vector<TokenInput> inputs;
  Eigen::MatrixXd queries, keys;  // (head_dim, inputs)
};

/// A key and where it stands: its lag from the query where positions turn, else 0.
struct PlacedKey {
  std::size_t input = 0;  // of the sample
  Eigen::Index lag = 0;
};

/// A query of a sample, and keys that it can see together.
struct ReachedInputs {
  std::size_t query = 0;
  PlacedKey high, low;  // of the widest spread found: of different items
  double spread = 0;    // of q . k
  bool two_keys = false;
  std::size_t logit_query = 0;
  PlacedKey logit_key;
  double logit = 0;  // |q . k|
};

/// The best of a few queries against every key of the sample, in doubles.
///
/// queries   which of the sample
/// lags      of rotary positions: 1 ... lags; without them the table's positions tell items apart
ReachedInputs reach_inputs(const HeadDescription& head, const TokenTable& table, const SampledInputs& sample,
                           const std::vector<std::size_t>& queries, Eigen::Index lags);

}  // namespace softcheck::models
