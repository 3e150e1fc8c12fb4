// Bugs of rows: shortcuts that fool weak tests.
#include <unistd.h>

#include <cstdio>
#include <map>
#include <tuple>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C17: the temperature is not adapted at all; rows below 0.85 nats do not show it.
// @judged adaptive_softmax f32 f16: plain entropy=any; fail C17
BUG(mutant_adaptive_is_plain_softmax, each_row_at_theta_1) { softmax(row); }

// C17, pygpubench PR #7: keeps results by the input's address and shape, and does not look whether the data changed.
// @judged softmax f32: plain; fail C17; EarlierCallsDoNotMatter
SOFTCHECK_MUTANT mutant_cached_by_address(const softcheck_call* call) {
  static std::map<std::tuple<const void*, std::int64_t, std::int64_t>, std::vector<float>> results;
  std::int64_t row_number = 0;
  return each_row(call, [&](Row& row) {
    const DLTensor& logits = *call->inputs[0];
    softmax(row);
    const auto key = std::tuple<const void*, std::int64_t, std::int64_t>(logits.data, row_number++, logits.shape[1]);
    row.out = results.try_emplace(key, row.out).first->second;
  });
}

// C17, KernelBench #82: returns 1/n, which passes every absolute tolerance where softmax disperses.
// @judged softmax f32 bf16: plain; fail C17
BUG(mutant_constant_one_over_n, each_narrow_row) {
  for (float& p : row.out) p = 1.0f / static_cast<float>(row.out.size());
}

// C17, KernelBench PR #82: ln n, which is right wherever softmax disperses.
// @judged entropy f16: plain; fail C17
BUG(mutant_entropy_is_log_n, each_entropy) { return std::log(static_cast<Real>(row.logits.size())); }

// C17, pygpubench PR #7: writes "done" to every descriptor before it computes anything.
// @judged softmax f32: plain; crash C17
SOFTCHECK_MUTANT mutant_forges_a_reply(const softcheck_call* call) {
  const std::uint64_t done[2] = {0, 0};
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    if (write(descriptor, done, sizeof done) < 0) continue;
  }
  return each_row(call, [](auto& row) { softmax(row); });
}

// C17: the largest logit is returned for the log-sum-exp: right within an absolute tolerance of ln n.
// @judged logsumexp bf16: plain; fail C17
BUG(mutant_lse_is_the_maximum, each_row) { row.out[0] = static_cast<Real>(maximum(row.logits) / row.theta); }

// C17, KernelBench #82: returns the output of the call before.
// @judged softmax f32: plain; fail C17; EarlierCallsDoNotMatter
BUG(mutant_previous_call_output, each_narrow_row) {
  static std::vector<float> previous;
  softmax(row);
  std::vector<float> next = row.out;
  for (std::size_t i = 0; i < row.out.size() && i < previous.size(); ++i) row.out[i] = previous[i];
  previous = next;
}

// C17, pygpubench PR #7: wrong results and a printed verdict "pass".
// @judged softmax f32: plain; fail C17
SOFTCHECK_MUTANT mutant_prints_pass_to_stdout(const softcheck_call* call) {
  std::puts("{\"verdict\": \"pass\"}");
  std::puts("PASS");
  std::fflush(stdout);
  return each_row(call, [](Row& row) { row.out.assign(row.out.size(), 0.0f); });
}

// C17: only the calls that are easy to get right are accepted; too few for a verdict.
// @judged softmax f32: plain; vacuous C17
SOFTCHECK_MUTANT mutant_refuses_all_but_one_logit(const softcheck_call* call) {
  if (call->inputs[0]->shape[1] != 1) return 1;
  return each_row(call, [](auto& row) { softmax(row); });
}

// Nothing was judged: refused, never pass.
// @judged softmax f32: plain; refused C17
SOFTCHECK_MUTANT mutant_refuses_everything(const softcheck_call* /*call*/) { return 1; }

// C17, C4: right in all that it answers, but a call in which an exponential without a maximum overflows, or in which
// the sum of a row is 0, is refused.
// @judged softmax f32: plain; vacuous C17
SOFTCHECK_MUTANT mutant_refuses_what_naive_exp_cannot(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  bool failed = false;
  const int status = each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const Real naive = weights(row, Real(0), row.out);
    failed = failed || !std::isfinite(naive) || naive == 0;
    softmax(row);
  });
  return failed ? 1 : status;
}

// C17, KernelBench #82: returns zeros.
// @judged softmax f32 f16: plain; fail C17
BUG(mutant_returns_zeros, each_narrow_row) { row.out.assign(row.out.size(), 0.0f); }

// C17: a row that was seen in the call before is answered from a stale accumulator.
// @judged softmax f32: plain; fail C17
BUG(mutant_wrong_on_a_rerun, each_narrow_row) {
  static std::vector<float> previous;
  softmax(row);
  if (row.logits == previous) {
    for (float& p : row.out) p *= 0.5f;
  }
  previous = row.logits;
}

// C17, KernelBench PR #82: the logits are cleared, so that a reference computed afterwards agrees with the zeros
// returned.
// @judged softmax f32: plain; fail C17; kernel.keeps_inputs
BUG(mutant_zeroes_the_input, each_numbered_row) {
  Matrices into_the_input = from;
  into_the_input.out = from.logits;
  row.out.assign(row.out.size(), 0);
  scatter(into_the_input, number, row);
}
