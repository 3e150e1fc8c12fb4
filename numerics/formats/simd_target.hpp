#pragma once

#include <string>
#include <vector>

namespace softcheck::numerics {

/// Instruction sets that this build holds and this machine runs, best first: "AVX3", "AVX2", "SSE4", "SSSE3", "SCALAR".
std::vector<std::string> simd_targets();

/// Makes the filter and the double-double stage of the whole process run on one instruction set for as long as it
/// lives: for tests and benchmarks.
class [[nodiscard]] SimdTargetScope {
 public:
  /// throws   std::invalid_argument when simd_targets() lacks the name
  explicit SimdTargetScope(const std::string& target);
  ~SimdTargetScope();
  SimdTargetScope(const SimdTargetScope&) = delete;
  SimdTargetScope& operator=(const SimdTargetScope&) = delete;
};

}  // namespace softcheck::numerics
