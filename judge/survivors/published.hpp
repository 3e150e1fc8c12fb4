#pragma once

#include <vector>

#include "judge/survivors/criterion.hpp"

// The parts of published_criteria(), by who publishes them.
namespace softcheck::proptests {

std::vector<Criterion> benchmark_criteria();    // benchmarks and teaching code
std::vector<Criterion> gpu_library_criteria();  // kernel libraries and frameworks for GPUs
std::vector<Criterion> cpu_library_criteria();  // those that run on CPUs, too
std::vector<Criterion> gradient_criteria();     // of the gradient of softmax
std::vector<Criterion> loss_criteria();         // of cross-entropy and its gradient
std::vector<Criterion> serving_criteria();      // of merged states and of routers
std::vector<Criterion> attribute_criteria();    // of attention with a softcap, a window or slopes
std::vector<Criterion> filter_criteria();       // of top-p and of sparsemax
std::vector<Criterion> attention_criteria();    // of attention
std::vector<Criterion> attention_gradient_criteria();
std::vector<Criterion> sequence_criteria();  // of attention over packed sequences and pages

}  // namespace softcheck::proptests
