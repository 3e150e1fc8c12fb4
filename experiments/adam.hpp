#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// Everything that the next step of a training depends on.
struct TrainingState {
  std::int64_t step = 0;
  Floats parameters;
  Floats first_moment;   // Adam's, of the gradient
  Floats second_moment;  // of its square
  RandomWords words;
  Floats nats = {};  // of a language model that trains by a curriculum: language_curriculum.hpp
};

/// Adam's numbers that all parameters of a step share (Kingma & Ba 2015, algorithm 1): beta1 0.9, epsilon 1e-8.
struct AdamStep {
  /// step   from 0 on
  AdamStep(double rate, double beta2, std::int64_t step);

  float beta2, beta2_rest;
  float rate;        // over 1 - beta1^(step + 1)
  float correction;  // of the root of the second moment
};

/// One step over the parameters [begin, end): adds coupled w to the gradient and subtracts decoupled w from the weight.
void adam(const AdamStep& step, TrainingState& state, const Floats& gradient, std::size_t begin, std::size_t end,
          float coupled, float decoupled);

/// Flushes subnormal numbers while it exists. Adam's moments of dead weights are full of them.
class FlushSubnormals {
 public:
  FlushSubnormals();
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  unsigned before_ = 0;
};

}  // namespace softcheck::experiments
