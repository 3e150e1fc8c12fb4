// Bugs in the gradients of softmax and log-softmax.
#include <algorithm>
#include <limits>

#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

template <class Real>
static void take_first_upstream(const softcheck_call& call, GradientRow<Real>& row) {
  const View upstream(*call.inputs[1]);
  for (std::size_t i = 0; i < row.upstream.size(); ++i) {
    row.upstream[i] = upstream.get<Real>(0, static_cast<std::int64_t>(i));
  }
}

// The sum in the narrow format.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_adds_in_bf16, log_softmax_gradient_by_total) {
  Real sum = 0;
  for (const auto g : row.upstream) sum = stored_in_bf16(sum + g);
  return sum;
}

// 2^y where e^y is due.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_base_2, log_softmax_gradient_by_items) {
  return row.upstream[i] - std::exp2(row.saved[i]) * total;
}

// The formula of softmax, on a saved log-softmax.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_by_softmax_formula, each_log_softmax_gradient) {
  const auto mean = mean_of(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
}

// A NaN in the upstream gradient is left out of the sum.
// @judged log_softmax_backward f32: plain; fail gradient; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_log_softmax_backward_drops_nan, log_softmax_gradient_by_total) {
  Real total = 0;
  for (const auto g : row.upstream) total += std::isnan(g) ? 0 : g;
  return total;
}

// Right for an upstream gradient with one item, as the loss of one label has it, and for no other.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_first_alone, log_softmax_gradient_by_total) {
  return row.upstream.empty() ? Real(0) : row.upstream[0];
}

// Y where e^y is due.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_forgets_exp, log_softmax_gradient_by_items) {
  return row.upstream[i] - row.saved[i] * total;
}

// The sum ends one item early.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_forgets_last, log_softmax_gradient_by_total) {
  Real sum = 0;
  for (std::size_t i = 0; i + 1 < row.upstream.size(); ++i) sum += row.upstream[i];
  return sum;
}

// The mean of g where its sum is due.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_means, log_softmax_gradient_by_total) {
  return total_of(row) / static_cast<decltype(row.saved[0] + 0)>(row.out.size());
}

// The gradient of the other sign.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_negated, log_softmax_gradient_by_items) {
  return std::exp(row.saved[i]) * total - row.upstream[i];
}

// Divides the saved output by its sum, and a row of zeros (fully masked, under masked=zero) by 0.
// @judged softmax_backward f32: plain; fail gradient; EveryValueLiesWithinItsThreshold
BUG(mutant_softmax_backward_zeros_over_zero, softmax_gradient_by_items) {
  const bool zeros = std::ranges::all_of(row.saved, [](Real y) { return y == 0; });
  return zeros ? std::numeric_limits<Real>::quiet_NaN() : row.saved[i] * (row.upstream[i] - mean);
}

// The upstream gradient of the first row for every row, as a stride of 0 gives it.
// @judged log_softmax_backward f32: plain; fail gradient; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_log_softmax_backward_reads_first_upstream, each_log_softmax_gradient) {
  take_first_upstream(*asked, row);
  put_log_softmax_gradient(row, total_of(row));
}

// E^y divided by its sum, as if a saved output that is off by a constant were to be mended.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_renormalises, each_log_softmax_gradient) {
  const auto total = total_of(row);
  auto sum = Real(0);
  for (const auto y : row.saved) sum += std::exp(y);
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) / sum * total;
}

// No gradient at all.
// @judged log_softmax_backward f32: plain; fail gradient
BUG(mutant_log_softmax_backward_zeros, each_log_softmax_gradient) {
  for (auto& value : row.out) value = 0;
}

// The sum in the narrow format, as in MIOpen issue 3427.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_adds_in_bf16, softmax_gradient_by_mean) {
  Real sum = 0;
  for (std::size_t i = 0; i < row.saved.size(); ++i) sum = stored_in_bf16(sum + row.saved[i] * row.upstream[i]);
  return sum;
}

// The formula of log-softmax, as MIOpen issue 112 had it.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_by_log_formula, each_softmax_gradient) {
  const auto total = total_of(row);
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
}

// A NaN in the saved output is left out of the sum.
// @judged softmax_backward f32: plain; fail gradient; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_softmax_backward_drops_nan, softmax_gradient_by_mean) {
  Real mean = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    const auto product = row.saved[i] * row.upstream[i];
    if (!std::isnan(product)) mean += product;
  }
  return mean;
}

// The sum ends one item early.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_forgets_last, softmax_gradient_by_mean) {
  Real sum = 0;
  for (std::size_t i = 0; i + 1 < row.saved.size(); ++i) sum += row.saved[i] * row.upstream[i];
  return sum;
}

// Items after the last whole vector of four are not added.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_forgets_tail_of_four, softmax_gradient_by_mean) {
  Real sum = 0;
  for (std::size_t i = 0; i < row.saved.size() / 4 * 4; ++i) sum += row.saved[i] * row.upstream[i];
  return sum;
}

// The gradient of the other sign.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_negated, softmax_gradient_by_items) { return row.saved[i] * (mean - row.upstream[i]); }

// Divides by sum y, to correct a saved output that does not add up to 1.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_normalises, softmax_gradient_by_mean) {
  Real sum = 0;
  for (const auto y : row.saved) sum += y;
  return sum > 0 ? mean_of(row) / sum : sum;
}

// The upstream gradient of the first row for every row, as a stride of 0 gives it.
// @judged softmax_backward f32: plain; fail gradient; LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed
BUG(mutant_softmax_backward_reads_first_upstream, each_softmax_gradient) {
  take_first_upstream(*asked, row);
  put_softmax_gradient(row, mean_of(row));
}

// The gradient is never divided by the loss scale.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_thousandfold, softmax_gradient_by_items) {
  return 1000 * (row.saved[i] * (row.upstream[i] - mean));
}

// The derivative of each item by itself, y (1 - y) g: only the diagonal of the Jacobian.
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_without_mean, each_softmax_gradient) {
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (1 - row.saved[i]) * row.upstream[i];
}

// No gradient at all. Tests whose tolerance is absolute accept it (docs/kernels/survivors.md).
// @judged softmax_backward f32: plain; fail gradient
BUG(mutant_softmax_backward_zeros, each_softmax_gradient) {
  for (auto& value : row.out) value = 0;
}

// C7: right if the output is a separate tensor. If it is the saved output, the mean for each later item mixes gradients
// and coefficients.
// @judged softmax_backward f32: plain; fail C7; TheOutputMayBeTheInput; require in-place
// @judged softmax_backward f32: plain; fail C7; TheOutputMayBeTheOutGradient; require in-place=out_gradient
SOFTCHECK_MUTANT mutant_softmax_backward_reads_what_it_wrote(const softcheck_call* call) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_SOFTMAX_BACKWARD || call->n_inputs != 2 ||
      call->inputs[0]->ndim != 2 || !is_float(*call->inputs[0])) {
    return 1;
  }
  const View saved(*call->inputs[0]), upstream(*call->inputs[1]), out(*call->outputs[0]);
  const auto run = [&](auto real) {
    using Real = decltype(real);
    for (std::int64_t r = 0; r < saved.rows; ++r) {
      for (std::int64_t i = 0; i < saved.columns; ++i) {
        Real mean = 0;
        for (std::int64_t j = 0; j < saved.columns; ++j) mean += saved.get<Real>(r, j) * upstream.get<Real>(r, j);
        out.put<Real>(r, i, saved.get<Real>(r, i) * (upstream.get<Real>(r, i) - mean));
      }
    }
    return 0;
  };
  return is_f64(saved.type) ? run(double{}) : run(float{});
}
