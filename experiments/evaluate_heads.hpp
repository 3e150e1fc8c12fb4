#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "experiments/evaluation.hpp"

namespace softcheck::experiments {

/// evaluate() without this project's kernels: a measure has options.others alone.
std::vector<SizeMeasure> evaluate_heads(const Floats& parameters, std::uint64_t stream,
                                        const EvaluationOptions& options,
                                        const std::function<bool(double)>& progress = {});

}  // namespace softcheck::experiments
