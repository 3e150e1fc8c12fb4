// Correct under contract total=bf16, and wrong under the default: torch's log-softmax along the last axis of bf16 and
// f16 rounds S to 16 bits before its logarithm is taken. (0, -7) gives 0.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

// x - m - log_of(S).
template <class LogOf>
void log_softmax_by(Row& row, LogOf log_of) {
  const float m = maximum(row.logits);
  const float log_sum = log_of(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
  }
}

}  // namespace

SOFTCHECK_MUTANT correct_log_softmax_total_stored(const softcheck_call* call) {
  return each_row(call,
                  [](Row& row) { log_softmax_by(row, [](float sum) { return std::log(rounded_to_bf16(sum)); }); });
}

SOFTCHECK_MUTANT correct_softmax_total_stored(const softcheck_call* call) {
  return each_row(call, [](Row& row) { divide(row.out, rounded_to_bf16(weights(row, maximum(row.logits), row.out))); });
}

// C11: S - 1 is truncated to a multiple of 1/32, below a place of bf16's.
SOFTCHECK_MUTANT mutant_log_softmax_total_truncated(const softcheck_call* call) {
  return each_row(call,
                  [](Row& row) { log_softmax_by(row, [](float sum) { return std::log(std::floor(sum * 32) / 32); }); });
}
