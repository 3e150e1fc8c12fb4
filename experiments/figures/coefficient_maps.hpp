#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

struct CoefficientMapOptions {
  std::uint64_t seed = 1;  // of the sets
  int largest = 16384;     // frames have n = 16, 32, ... up to it
  bool adaptive = false;   // with adaptive temperature, too, on the same sets
};

/// Figure 2, and with adaptive Figure 7: a trained head's coefficients of the 16 items of highest priority in each of
/// 32 sets, a frame for each size. Table: n, set, rank, priority, logit, coefficient[, adaptive coefficient].
///
/// name       of the files
/// progress   called with the name of the current step
Figure coefficient_maps(const std::string& name, const Floats& parameters, const CoefficientMapOptions& options,
                        const std::function<void(const std::string&)>& progress = {});

}  // namespace softcheck::experiments
