#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// One random set, and a trained head's attention on it.
struct AttentionRow {
  int size = 0;
  std::vector<float> priorities;  // (size)
  std::vector<float> logits;      // (size), without b_K . q', which is the same for all
  std::size_t maximal = 0;        // the item with the largest priority
};

/// Which random sets: the same source, size and count give the same rows, and a smaller count their beginning.
struct RowSource {
  std::uint64_t seed = 1;
  std::uint64_t stream = 1;  // other networks get other sets
};

/// count rows of one size, one after the other: memory O(size).
///
/// throws   std::invalid_argument for size or count below 1
void for_each_row(const Floats& parameters, const RowSource& source, int size, int count,
                  const std::function<void(const AttentionRow&)>& visit);

/// softmax(beta logits) in double.
///
/// logits   (n) finite, n >= 1     beta     finite     returns  (n)
std::vector<double> coefficients_of(std::span<const float> logits, double beta = 1);

/// Of coefficients, in nats.
double entropy_of(std::span<const double> coefficients);

}  // namespace softcheck::experiments
