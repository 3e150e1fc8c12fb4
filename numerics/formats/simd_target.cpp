#include "numerics/formats/simd_target.hpp"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <stdexcept>

namespace softcheck::numerics {

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

SimdTargetScope::SimdTargetScope(const std::string& target) {
  for (std::int64_t candidate : hwy::SupportedAndGeneratedTargets()) {
    if (target != hwy::TargetName(candidate)) continue;
    hwy::SetSupportedTargetsForTest(candidate);
    hwy::GetChosenTarget().Update(candidate);
    return;
  }
  throw std::invalid_argument("SimdTargetScope: target must be one of simd_targets(), got " + target);
}

SimdTargetScope::~SimdTargetScope() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace softcheck::numerics
