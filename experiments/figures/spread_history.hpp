#pragma once

#include <cstdint>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::experiments {

/// The observed steps of a training of `steps` steps: 1, then about evenly in their logarithm, and the last one.
///
/// steps, count  >= 1      returns  at most count steps, rising
std::vector<std::int64_t> log_spaced_steps(std::int64_t steps, int count);

/// A fixed sample that every step is measured on: sets of 16, as large as the largest in training.
RetrievalSets spread_sample(std::uint64_t seed);

/// A network's observed spread and Proposition 3.1's bounds, at one step of its training.
struct SpreadPoint {
  std::int64_t step = 0;
  double loss = 0;         // cross-entropy of the step
  double mean_spread = 0;  // of the sample
  /// proposition_3_1.paper, .biased, .difference, .joint, .direct of the set of widest spread: left is its observed
  /// spread, right the bound. Items and query are the outputs of the network's branches, as numbers.
  std::vector<numerics::Certificate> certificates;
};
SpreadPoint spread_point(const Floats& parameters, const RetrievalSets& sample, std::int64_t step, double loss);

/// Figure 9: observed spread and bounds against the training step.
Figure spread_history(const std::vector<SpreadPoint>& points);

}  // namespace softcheck::experiments
