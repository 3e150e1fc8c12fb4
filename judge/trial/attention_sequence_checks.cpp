// Additional checks of kernels that take packed sequences or pages (judge/call/sequence_layout.hpp).
#include <algorithm>

#include "judge/trial/attention_trial.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

// Overwrites the numbers of all sequences except one.
void fill_others(std::vector<double>& numbers, std::size_t of_each, std::size_t stays, double value) {
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k / of_each != stays) numbers[k] = value;
  }
}

}  // namespace

Certificates AttentionTrial::other_sequences(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  std::size_t stays = s.scores() % s.batch;
  for (std::size_t tried = 0; tried < s.batch && attention.queries_of(stays) == 0; ++tried)
    stays = (stays + 1) % s.batch;
  AttentionCase poisoned = attention;
  if (s.batch > 1 && !domain_.hides_finite_numbers()) {
    fill_others(poisoned.queries, s.heads() * s.queries * s.dim, stays, numerics::nan);
    fill_others(poisoned.keys, s.kv_heads * s.keys * s.dim, stays, numerics::nan);
    fill_others(poisoned.values, s.kv_heads * s.keys * s.value_dim, stays, numerics::nan);
    fill_others(poisoned.gradients, s.heads() * s.queries * s.value_dim, stays, numerics::nan);
    fill_others(poisoned.attributes.lse_gradients, s.heads() * s.queries, stays, numerics::nan);
  }
  const std::string remark = " (NaN in all sequences but " + std::to_string(stays) + ")";
  const Outputs got = call(poisoned, remark, certificates);
  judge(poisoned, got, remark, certificates, {[&](std::size_t b, std::size_t, std::size_t) { return b == stays; }});
  return certificates;
}

Certificates AttentionTrial::after_other_lengths(const AttentionCase& attention) {
  AttentionCase other = attention;
  std::ranges::reverse(other.sequences.queries);
  std::ranges::reverse(other.sequences.keys);
  if (other.sequences.order != 0) ++other.sequences.order;
  return in_turn({{attention, ""}, {other, " (lengths in reverse order)"}, {attention, " (after other calls)"}});
}

}  // namespace softcheck::proptests
