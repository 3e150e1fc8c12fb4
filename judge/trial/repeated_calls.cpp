// Repeated calls of row kernels: state from one call must not reach the next.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "judge/trial/kernel_trial.hpp"

namespace softcheck::proptests {

namespace {

/// A matrix of the same shape: its first row reversed and negated.
RowMatrixCase decoy_of(RowMatrixCase matrix) {
  std::vector<double> logits = matrix.rows[0].expand();
  std::ranges::reverse(logits);
  for (double& logit : logits) {
    if (std::isfinite(logit)) logit = -logit;
  }
  matrix.rows = {RunLengthRow::of(logits)};
  return matrix;
}

}  // namespace

Certificates KernelTrial::alone(const RowCase& row_case) {
  Certificates certificates;
  const RowMatrixCase real = matrix_of(row_case);
  call(decoy_of(real), " (the row backwards with its signs turned, called before it)", certificates);
  const Outputs got = call(real, "", certificates);
  if (!got) return certificates;
  judge(real, *got, "", certificates);
  const Outputs again = call(real, " (second call)", certificates);
  if (!again) return certificates;
  if (!same_bits(*got, *again)) judge(real, *again, " (second call)", certificates);
  kernel_.compare(*got, *again, subject_.required.deterministic, "kernel.deterministic",
                  "a second call with the same row gave other bits", {to_text(row_case)}, certificates);
  return certificates;
}

Certificates KernelTrial::after_others(const RowCase& row_case) {
  Certificates certificates;
  const RowMatrixCase real = matrix_of(row_case);
  RowMatrixCase warmer = real, longer = real, shorter = real;
  warmer.theta = !subject_.op->has_theta || real.theta != 1 ? 1 : 2;
  std::vector<double> logits = row_case.row.expand();
  const bool rest_visible = std::ranges::any_of(std::span(logits).first(logits.size() - 1),
                                                [](double logit) { return std::isfinite(logit); });
  if (rest_visible) {
    shorter.rows = {RunLengthRow::of(std::span(logits).first(logits.size() - 1))};
    shorter.columns = logits.size() - 1;
  }
  logits.push_back(logits.front());
  longer.rows = {RunLengthRow::of(logits)};
  longer.columns = logits.size();
  const std::pair<const RowMatrixCase*, const char*> calls[] = {{&real, " (the first of five calls)"},
                                                                {&warmer, " (after the same logits at another theta)"},
                                                                {&longer, " (after a call of one logit fewer)"},
                                                                {&shorter, " (after a call of more logits)"},
                                                                {&real, " (after four other calls)"}};
  for (const auto& [matrix, remark] : calls) {
    const Outputs got = call(*matrix, remark, certificates);
    if (!got) continue;
    Certificates after;
    judge(*matrix, *got, remark, after);
    if (numerics::worst(after) == numerics::Verdict::violated) {
      Certificates alone = by_itself(*matrix);
      if (numerics::worst(alone) == numerics::Verdict::violated) {
        std::ranges::move(alone, std::back_inserter(certificates));
        return certificates;
      }
    }
    std::ranges::move(after, std::back_inserter(certificates));
  }
  return certificates;
}

Certificates KernelTrial::by_itself(const RowMatrixCase& matrix) {
  Certificates certificates;
  const bool anew = kernel_.start_anew();
  if (!anew) call(decoy_of(matrix), " (the row backwards with its signs turned)", certificates);
  const std::string remark = anew ? " (the first call of its process)" : " (after another row of its length)";
  const Outputs got = call(matrix, remark, certificates);
  if (got) judge(matrix, *got, remark, certificates);
  for (numerics::Certificate& certificate : certificates) certificate = of_call_alone(std::move(certificate));
  return certificates;
}

}  // namespace softcheck::proptests
