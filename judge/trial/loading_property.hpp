#pragma once

#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

inline constexpr const char* loading_sentence = "LoadingLeavesTheEnvironment";

/// One case: loading the library left the floating-point environment as it was. A library linked with -ffast-math sets
/// flush-to-zero for the whole process that loads it.
KernelProperty loading_property(WatchedKernel& watched);

}  // namespace softcheck::proptests
