// C10: a mask is taken for an array of bool: only the byte 1 is visible.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_mask_byte_one(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    if (!a.masked) return;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const auto byte =
          static_cast<unsigned char>(*a.mask.at(at.b, a.mask_head[static_cast<std::size_t>(at.h)], at.i, j));
      if (byte != 1) row.visible[static_cast<std::size_t>(j)] = 0;
    }
  });
}
