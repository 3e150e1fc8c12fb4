#pragma once

#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

inline constexpr const char* loading_sentence = "LoadingLeavesTheEnvironment";
inline constexpr const char* loading_remark = "while the library loads: rounding, flush-to-zero or exceptions";

/// A property with one case: loading the library keeps the floating-point environment. A library linked with
/// -ffast-math sets flush-to-zero for the whole process that loads it.
KernelProperty loading_property(WatchedKernel& watched);

}  // namespace softcheck::proptests
