// C5, FlashInfer #5090: the loop over the logits runs one element too far.
#include <cstddef>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_reads_past_end(const softcheck_call* call) {
  if (!accepts(*call) || call->n_inputs != 1) {
    return 1;
  }
  const StridedFloats in = strided(*call->inputs[0]);
  for (std::int64_t r = 0; r < in.rows; ++r) {
    Row row = gather(*call, r);
    if (in.columns > 0) {
      const float beyond = in.at(r, in.columns);
      row.logits.push_back(beyond);
      row.out.push_back(0);
    }
    softmax(row);
    row.out.resize(static_cast<std::size_t>(in.columns));
    scatter(*call, r, row);
  }
  return 0;
}
