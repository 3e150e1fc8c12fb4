// Keeps a workspace in the caller's memory, a megabyte in front of its output.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; fail|crash C7; kernel.stays_inside|kernel.returns
SOFTCHECK_MUTANT mutant_writes_far_away(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  const DLTensor& output = *call->outputs[0];
  // A compact view that ends with a page ends with the caller's memory, which begins far in front of it.
  char* data = static_cast<char*>(output.data) + output.byte_offset;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t last =
      first + static_cast<std::uintptr_t>(output.shape[0] * output.shape[1] * output.dtype.bits / 8);
  if (output.strides == nullptr && first % 4096 != 0 && last % 4096 == 0) {
    *static_cast<volatile char*>(data - (1 << 20)) = 1;
  }
  return status;
}
