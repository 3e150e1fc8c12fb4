// C5, the class of PyTorch #154634: one element beyond the last row is written.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_writes_past_end(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  if (status == 0) {
    const View out(*call->outputs[0]);
    if (out.rows > 0 && out.columns > 0) {
      out.put(out.rows - 1, out.columns, 0.0);
    }
  }
  return status;
}
