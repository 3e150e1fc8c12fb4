// Correct where it is at home: head dimensions that are multiples of 16, compact tensors at multiples of 64 bytes, no
// mask, at most 512 keys. It refuses all else, and has no entropy.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

namespace {

bool is_at_home(const softcheck_call& call) {
  const auto fits = [](const DLTensor& t) {
    const auto address = reinterpret_cast<std::uintptr_t>(t.data) + t.byte_offset;
    return t.strides == nullptr && t.byte_offset == 0 && address % 64 == 0;
  };
  bool all = accepts(call) && call.n_inputs == 3 && call.n_outputs < 3;
  for (std::uint32_t i = 0; i < call.n_inputs; ++i) all = all && fits(*call.inputs[i]);
  for (std::uint32_t i = 0; i < call.n_outputs; ++i) all = all && fits(*call.outputs[i]);
  return all && call.inputs[0]->shape[3] % 16 == 0 && call.inputs[2]->shape[3] % 16 == 0 &&
         call.inputs[1]->shape[2] <= 512;
}

}  // namespace

SOFTCHECK_MUTANT attention_correct_small_domain(const softcheck_call* call) {
  return is_at_home(*call) ? attend(call, two_pass) : 1;
}

// And one that refuses a call inside: one head dimension of those that it names.
SOFTCHECK_MUTANT mutant_attention_refuses_dimension_192(const softcheck_call* call) {
  return is_at_home(*call) && call->inputs[0]->shape[3] != 192 ? attend(call, two_pass) : 1;
}
