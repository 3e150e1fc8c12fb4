// An exception crosses the C boundary.
#include <stdexcept>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_throws(const softcheck_call* call) {
  if (call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION) {
    throw std::runtime_error("mutant_throws");
  }
  return 1;
}
