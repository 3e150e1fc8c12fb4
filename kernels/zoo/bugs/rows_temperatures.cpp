// Bugs of rows: the temperature.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

// C10, the paper: max(P(H), 1) is forgotten: above 5.94 nats the row is flattened.
// @judged adaptive_softmax f64: plain entropy=exact; fail C10
BUG(mutant_adaptive_beta_below_one, each_row_at_theta_1) {
  softmax_sharpened(row, [](const Sums<Real>& sums) {
    const Real entropy = entropy_of(sums);
    return entropy > Real(0.5) ? beta_polynomial(entropy) : Real(1);
  });
}

// C10, the paper: beta is taken for a temperature: the logits are divided by it.
// @judged adaptive_softmax f16: plain entropy=exact; fail C10
BUG(mutant_adaptive_beta_divides, each_row_at_theta_1) {
  softmax_sharpened(row, [](const Sums<Real>& sums) { return 1 / beta_of(entropy_of(sums)); });
}

// C10, the class of gemma.cpp PR #981: a table of 512 temperatures; rows beyond its end use that of its first row.
// @judged adaptive_softmax f32: exp=1ulp sum=tree masked=nan entropy=exact; fail C10; EveryPairOfClassesIsComputed;
// witness >=513; effort default
BUG(mutant_adaptive_beta_of_row_0_from_row_512, each_numbered_row_at_theta_1) {
  const RowOf<double> measured = gather<double>(from, number < 512 ? number : 0);
  in_double(row, [&](RowOf<double>& wide) {
    softmax_sharpened(wide, [&](const auto& sums) {
      return beta_of(entropy_of(std::isfinite(maximum(measured.logits)) ? sums_of(measured) : sums));
    });
  });
}

// C10: beta is computed once, for the first row of the process.
// @judged adaptive_softmax f32: plain entropy=exact; fail C10; EarlierCallsDoNotMatter
BUG(mutant_adaptive_beta_of_the_first_row, each_row_at_theta_1) {
  softmax_sharpened(row, [](const Sums<Real>& sums) {
    static const Real beta = beta_of(entropy_of(sums));
    return beta;
  });
}

// C10, the class of KernelBench #82: from ten rows of 1024 logits or more on a plain softmax takes over.
// @judged adaptive_softmax f32: exp=1ulp sum=tree masked=nan entropy=exact; fail C10; EveryPairOfClassesIsComputed;
// witness >=10240; effort default
BUG(mutant_adaptive_plain_in_long_rows_of_a_batch, each_numbered_row_at_theta_1) {
  const bool plain = from.logits.rows >= 10 && from.logits.columns >= 1024;
  in_double(row, [plain](RowOf<double>& wide) { plain ? softmax(wide) : adaptive_softmax(wide); });
}

// C10, google-deepmind/gemma PR #585 for #562: temperatures below 1e-6 count as 0, and the largest logit takes all,
// though others may be as large.
// @judged softmax f32: plain; fail C10
BUG(mutant_greedy_at_small_theta, changed_results, softmax_row) {
  if (row.theta < 1e-6) {
    std::size_t largest = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      largest = row.out[i] > row.out[largest] ? i : largest;
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::isnan(row.out[i]) ? row.out[i] : i == largest;
    }
  }
}

// C10: theta is applied in the log of the sum, but not to the logit.
// @judged log_softmax f32: plain; fail C10
BUG(mutant_log_softmax_forgets_theta, each_narrow_row) {
  const float m = maximum(row.logits);
  const float log_sum = std::log(weights(row, m, row.out));
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.logits[i] - m - log_sum;
}

// C10, gemma.cpp PR #981: the last row's result is stored and returned again for equal logits, even if theta has
// changed.
// @judged softmax f32: plain; fail C10; EarlierCallsDoNotMatter
BUG(mutant_results_kept_for_same_logits, each_narrow_row) {
  static std::vector<float> last_logits, last_result;
  if (row.logits == last_logits) {
    row.out = last_result;
    return;
  }
  softmax(row);
  last_logits = row.logits;
  last_result = row.out;
}

// C10, the class of metal-flash-attention #8: theta is applied twice.
// @judged softmax f32: plain; fail C10
BUG(mutant_scale_twice, changed_narrow_rows, softmax_row) { row.theta *= row.theta; }

// C10, SlopDotCash/asi #2886: x / theta - max / theta instead of (x - max) / theta: infinite if the quotients
// overflow, and not invariant under shifts.
// @judged softmax f32: plain; fail C10
BUG(mutant_scaled_maximum_overflows, each_row) {
  const Real m = maximum(row.logits) * reciprocal_theta(row);
  Real sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] = std::exp(row.logits[i] * reciprocal_theta(row) - m);
    sum += row.out[i];
  }
  divide(row.out, sum);
}

// C10, C11: 1 / theta is rounded to f32 where an f64 row has a temperature above 1 that is no float.
// @judged log_softmax f64: plain; fail C10; effort default
BUG(mutant_theta_above_one_in_f32, changed_rows, log_softmax_row) {
  if (row.theta > 1 && row.theta != static_cast<float>(row.theta)) {
    row.theta = 1 / static_cast<double>(static_cast<float>(1 / row.theta));
  }
}

// C10, gemma.cpp PR #981: theta divides the weights instead of the logits, and cancels.
// @judged softmax f32: plain; fail C10
BUG(mutant_theta_after_exp, each_narrow_row) {
  const float theta = static_cast<float>(row.theta);
  row.theta = 1;
  float sum = weights(row, maximum(row.logits), row.out);
  sum /= theta;
  for (float& p : row.out) p = p / theta / sum;
}

// C10: logsumexp divides the finished logarithm by theta: (ln sum exp x) / theta.
// @judged logsumexp f32: plain; fail C10
BUG(mutant_theta_after_the_log, each_narrow_logsumexp) {
  Row untempered = row;
  const float theta = static_cast<float>(untempered.theta);
  untempered.theta = 1;
  return logsumexp_of(untempered, sums_of(untempered)) / theta;
}

// C10, C7: the kernel for columns that lie apart takes no temperature in rows of more than 1100 logits.
// @judged log_softmax f32: plain; fail C10; EveryPairOfClassesIsComputed; witness >=1101; effort default
BUG(mutant_theta_forgotten_with_column_stride_and_long_rows, changed_rows, log_softmax_row) {
  row.theta = from.logits.column_stride > 1 && from.logits.columns > 1100 ? 1 : row.theta;
}

// C10, C11, the class of gemma #562: the temperature is passed in bf16.
// @judged softmax f32 bf16: plain; fail C10; effort default
BUG(mutant_theta_in_bf16, changed_rows, softmax_row) { row.theta = rounded_to_bf16(static_cast<float>(row.theta)); }

// C10, C11, the class of metal-flash-attention #8: temperatures that f16 may hold are passed in f16.
// @judged logsumexp f32: plain; fail C10; effort default
BUG(mutant_theta_in_f16, changed_rows, softmax_or_logsumexp_row) {
  if (row.theta > 1e-4 && row.theta < 6e4) {
    row.theta = rounded_to_f16(static_cast<float>(row.theta));
  }
}

// C10, C11: the temperature of an f64 kernel is a float, as in many a C interface.
// @judged softmax f64: plain; fail C10; effort default
// @judged logsumexp f64: plain; fail C10; effort default
BUG(mutant_theta_in_f32, changed_rows, softmax_or_logsumexp_row) { row.theta = static_cast<float>(row.theta); }

// C10, C13: the entropy of an f64 row at a temperature that was a float.
// @judged entropy f64: plain; fail C10; effort default
BUG(mutant_theta_in_f32_of_entropy, changed_rows, entropy_row) { row.theta = static_cast<float>(row.theta); }

// C10, C11: temperatures from 1/64 to 64 are stored in steps of 2^-20.
// @judged log_softmax f64: plain; fail C10; effort default
BUG(mutant_theta_in_fixed_point, changed_rows, log_softmax_row) {
  if (row.theta > 0x1p-6 && row.theta < 0x1p6) row.theta = std::round(row.theta * 0x1p20) * 0x1p-20;
}

// C10, the class of metal-flash-attention #8: the logits are divided by theta, the maximum is not.
// @judged softmax f16: plain; fail C10
BUG(mutant_theta_not_applied_to_maximum, softmax_by_weights) {
  return std::exp(row.logits[i] * reciprocal_theta(row) - m);
}

// C10, metal-flash-attention #8: the temperature reaches the first 512 rows, the others take 1.
// @judged softmax bf16: plain; fail C10; EveryPairOfClassesIsComputed; witness >=513; effort default
BUG(mutant_theta_of_512_rows, changed_rows, softmax_row) { row.theta = number < 512 ? row.theta : 1; }

// C10: all calls of the process use 1 / theta of the first one.
// @judged softmax f32 bf16: plain; fail C10; EarlierCallsDoNotMatter
SOFTCHECK_MUTANT mutant_theta_of_the_first_call(const softcheck_call* call) {
  static const double theta = call->theta;
  return each_row(call, [](Row& row) {
    row.theta = theta;
    softmax(row);
  });
}
