// Bugs of attention: shortcuts that fool weak tests.
#include <utility>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

// C17, KernelBench #82: the mean of V, which an absolute tolerance takes for attention where softmax disperses.
// @judged attention f32 bf16: plain entropy=exact; fail C17
BUG(mutant_attention_mean_of_values, attend_changed_rows) { std::fill(row.query.begin(), row.query.end(), Real(0)); }

// C17, pygpubench #7: every query gets the output of the previous query, also from another call.
// @judged attention f32: plain entropy=exact; fail C17
BUG(mutant_attention_previous_output, attend) {
  static std::vector<Real> previous;
  attend_two_pass(row);
  previous.resize(row.out.size());
  std::swap(previous, row.out);
}

// C17, KernelBench #82: zeros.
// @judged attention f16: plain entropy=exact; fail C17
BUG(mutant_attention_returns_zeros, attend) {
  std::fill(row.out.begin(), row.out.end(), Real(0));
  row.lse = row.entropy = 0;
}
