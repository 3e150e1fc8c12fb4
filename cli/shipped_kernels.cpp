#include "cli/shipped_kernels.hpp"

namespace softcheck::cli {

std::span<const ShippedKernel> shipped_kernels() {
  static constexpr ShippedKernel kernels[] = {
#include "shipped_kernels.inc"
  };
  return kernels;
}

}  // namespace softcheck::cli
