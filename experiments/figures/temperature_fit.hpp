#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "experiments/figures/attention_row.hpp"

namespace softcheck::experiments {

/// The temperatures of Appendix F: 0.1, 0.2, ... 10. It begins its grid at 0, where nothing is defined.
inline constexpr int theta_steps = 100;
constexpr double theta_at(int step) { return static_cast<double>(step) / 10; }  // step 1 ... theta_steps

/// The theta of the grid that gives the item its largest coefficient, the smallest of such where several do.
///
/// logits   (n) finite     item   < n
double best_theta(std::span<const float> logits, std::size_t item);

/// A set on which the head looked at the wrong item: what softmax at theta = 1 had, and what would have been best.
struct FitSample {
  int size = 0;
  double entropy = 0;  // in nats
  double theta = 0;    // best for the item with the largest priority
};

struct FitOptions {
  std::uint64_t seed = 2;  // of the sets: others than an evaluation's
  std::vector<int> sizes{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  int sets = 4096;               // at most, of each size
  std::int64_t items = 1 << 18;  // at most, of each size
};

/// Appendix F's data: of random sets those where the item with the largest priority has not the largest logit.
std::vector<FitSample> fit_samples(const Floats& parameters, std::uint64_t stream, const FitOptions& options);

/// Coefficients of H^0 ... H^degree that fit 1/theta to H in least squares.
///
/// samples   more than degree, of more than degree different entropies
/// throws    std::invalid_argument when they are not
std::vector<double> fit_polynomial(std::span<const FitSample> samples, int degree);

/// The polynomial with these coefficients, constant first.
double polynomial(std::span<const double> coefficients, double x);

}  // namespace softcheck::experiments
