// C14, FlashInfer: never returns.
#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_hangs(const softcheck_call* call) {
  volatile std::uint32_t version = call->abi_version;
  while (version == call->abi_version) {
  }
  return 0;
}
