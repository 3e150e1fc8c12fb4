// Bug: outputs are rounded to bf16 before they are weighted.
#include <cstring>

#include "kernels/zoo/merge_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_states_outputs_in_bf16(const softcheck_call* call) {
  return each_merge_row(call, [](auto& row) {
    for (auto& output : row.outputs) {
      for (auto& value : output) {
        float narrow = static_cast<float>(value);
        std::uint32_t bits;
        std::memcpy(&bits, &narrow, sizeof bits);
        bits &= 0xffff0000u;
        std::memcpy(&narrow, &bits, sizeof bits);
        value = narrow;
      }
    }
    row.merge();
  });
}
