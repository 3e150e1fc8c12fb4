#pragma once

#include <vector>

#include "proptests/survivors/criterion.hpp"

// The parts of published_criteria(), by who publishes them.
namespace softcheck::proptests {

std::vector<Criterion> benchmark_criteria();    // benchmarks and teaching code
std::vector<Criterion> gpu_library_criteria();  // kernel libraries and frameworks for GPUs
std::vector<Criterion> cpu_library_criteria();  // those that run on CPUs, too
std::vector<Criterion> attention_criteria();    // of attention

}  // namespace softcheck::proptests
