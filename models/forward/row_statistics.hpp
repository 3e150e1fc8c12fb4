#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>

#include "models/architectures/description.hpp"
#include "models/forward/forward_pass.hpp"

namespace softcheck::models {

/// One query's logits e of the keys that it sees, and the softmax of them.
struct RowStatistics {
  std::int64_t items = 0;
  double largest = 0, smallest = 0;  // logits
  double others = 0;                 // sum of exp(e - largest) over all items but one of the largest
  double entropy = 0;                // nats
  double first_coefficient = 0;      // of the input's first token; 0 where the query does not see it

  double spread() const { return largest - smallest; }
  double largest_coefficient() const { return 1 / (1 + others); }
};

/// The row of n + 1 logits that a sink makes of a row of n: its score is one more logit. first_coefficient then has the
/// sink in its denominator.
RowStatistics with_sink(const RowStatistics& row, double sink);

/// Rows of one head on one input, in doubles: the coefficients are those of plain softmax, whatever the layer's kernel.
///
/// first, count   queries of the input
/// seen           gets each query's row with its logits, in order
void each_row(const LayerAttention& layer, const HeadDescription& head, const TokenRange& input, Eigen::Index first,
              Eigen::Index count,
              const std::function<void(const RowStatistics& row, std::span<const double> logits)>& seen);

}  // namespace softcheck::models
