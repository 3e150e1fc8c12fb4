#pragma once

#include <string>
#include <vector>

namespace softcheck::numerics {

/// Instruction sets that this build contains and this machine supports, best first: "AVX3", "AVX2", "SSE4", "SSSE3",
/// "SCALAR".
std::vector<std::string> simd_targets();

/// Restricts the filter and the double-double stage of the whole process to one instruction set for its lifetime: for
/// tests and benchmarks.
class [[nodiscard]] SimdTargetScope {
 public:
  /// throws   std::invalid_argument if simd_targets() lacks the name
  explicit SimdTargetScope(const std::string& target);
  ~SimdTargetScope();
  SimdTargetScope(const SimdTargetScope&) = delete;
  SimdTargetScope& operator=(const SimdTargetScope&) = delete;
};

}  // namespace softcheck::numerics
