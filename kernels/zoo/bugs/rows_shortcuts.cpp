// Bugs of rows: shortcuts that fool weak tests.
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C17: the temperature is not adapted at all; rows below 0.85 nats do not show it.
// @judged adaptive_softmax f32 f16: exp=1ulp sum=sequential masked=nan entropy=any; fail C17;
// EveryValueLiesWithinItsThreshold; kernel.adaptive_softmax.element
SOFTCHECK_MUTANT mutant_adaptive_is_plain_softmax(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) { softmax(row); });
}

// C17, pygpubench PR #7: keeps results by the input's address and shape, and does not look whether the data changed.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C17; EarlierCallsDoNotMatter; kernel.softmax.element
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
// @judged softmax f32 bf16: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_constant_one_over_n(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& p : row.out) {
      p = 1.0f / static_cast<float>(row.out.size());
    }
  });
}

// C17, KernelBench PR #82: ln n, which is right wherever softmax disperses.
// @judged entropy f16: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_is_log_n(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] =
        entropy_or(row, [](const RowOf<Real>& finite) { return std::log(static_cast<Real>(finite.logits.size())); });
  });
}

// C17, pygpubench PR #7: writes "done" to every descriptor before it computes anything.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; crash C17; EveryValueLiesWithinItsThreshold; kernel.returns
SOFTCHECK_MUTANT mutant_forges_a_reply(const softcheck_call* call) {
  const std::uint64_t done[2] = {0, 0};
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    if (write(descriptor, done, sizeof done) < 0) {
      continue;
    }
  }
  return each_row(call, [](auto& row) { softmax(row); });
}

// C17: the largest logit is returned for the log-sum-exp: right within an absolute tolerance of ln n.
// @judged logsumexp bf16: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.logsumexp.value
SOFTCHECK_MUTANT mutant_lse_is_the_maximum(const softcheck_call* call) {
  return each_row(
      call, []<class Real>(RowOf<Real>& row) { row.out[0] = static_cast<Real>(maximum(row.logits) / row.theta); });
}

// C17, KernelBench #82: returns the output of the call before.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C17; EarlierCallsDoNotMatter; kernel.softmax.element
SOFTCHECK_MUTANT mutant_previous_call_output(const softcheck_call* call) {
  static std::vector<float> previous;
  return each_row(call, [](Row& row) {
    softmax(row);
    std::vector<float> next = row.out;
    for (std::size_t i = 0; i < row.out.size() && i < previous.size(); ++i) {
      row.out[i] = previous[i];
    }
    previous = next;
  });
}

// C17, pygpubench PR #7: wrong results beside a printed verdict.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_prints_pass_to_stdout(const softcheck_call* call) {
  std::puts("{\"verdict\": \"pass\"}");
  std::puts("PASS");
  std::fflush(stdout);
  return each_row(call, [](Row& row) { row.out.assign(row.out.size(), 0.0f); });
}

// C17: only the calls that are easy to get right are accepted; too few for a verdict.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; vacuous C17; -; -
SOFTCHECK_MUTANT mutant_refuses_all_but_one_logit(const softcheck_call* call) {
  if (call->inputs[0]->shape[1] != 1) {
    return 1;
  }
  return each_row(call, [](auto& row) { softmax(row); });
}

// Nothing was judged: refused, never pass.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; refused C17; -; -
SOFTCHECK_MUTANT mutant_refuses_everything(const softcheck_call* /*call*/) { return 1; }

// C17, C4: right in all that it answers, but a call in which an exponential without a maximum overflows, or in which
// the sum of a row is 0, is refused.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; vacuous C17; -; -
SOFTCHECK_MUTANT mutant_refuses_what_naive_exp_cannot(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  bool failed = false;
  const int status = each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const Real naive = weights(row, Real(0), row.out);
    failed = failed || !std::isfinite(naive) || naive == 0;
    softmax(row);
  });
  return failed ? 1 : status;
}

// C17, KernelBench #82: returns zeros.
// @judged softmax f32 f16: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_returns_zeros(const softcheck_call* call) {
  return each_row(call, [](Row& row) { row.out.assign(row.out.size(), 0.0f); });
}

// C17: a row that was seen in the call before is answered from a stale accumulator.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_wrong_on_a_rerun(const softcheck_call* call) {
  static std::vector<float> previous;
  return each_row(call, [](Row& row) {
    softmax(row);
    if (row.logits == previous) {
      for (float& p : row.out) {
        p *= 0.5f;
      }
    }
    previous = row.logits;
  });
}

// C17, KernelBench PR #82: the logits are cleared, so that a reference computed afterwards agrees with the zeros
// returned.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C17; EveryValueLiesWithinItsThreshold;
// kernel.keeps_inputs
SOFTCHECK_MUTANT mutant_zeroes_the_input(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  Matrices into_the_input = *matrices;
  into_the_input.out = matrices->logits;
  std::int64_t r = 0;
  return each_row(*matrices, [&](auto& row) {
    row.out.assign(row.out.size(), 0);
    scatter(into_the_input, r++, row);
  });
}
