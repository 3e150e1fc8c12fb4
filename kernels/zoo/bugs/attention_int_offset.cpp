// C6, FlexAttention in PyTorch #190857, vLLM #50427: offsets into V are held in 32 bits.
#include <cstdint>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_int_offset(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    a.v.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::int32_t>(offset)); };
  });
}
