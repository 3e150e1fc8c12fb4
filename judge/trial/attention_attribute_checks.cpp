// Checks of kernels that take attention's attributes (proptests/generators/attention/attention_attributes.hpp).
#include <algorithm>

#include "judge/call/attention_call.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/trial/attention_trial.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

// Gives each attribute that is on another value.
AttentionAttributes changed(AttentionAttributes a) {
  const auto longer = [](std::optional<std::size_t>& side) {
    if (side) ++*side;
  };
  longer(a.window_left);
  longer(a.window_right);
  a.softcap /= 2;
  for (std::vector<double>* numbers : {&a.sinks, &a.slopes, &a.bias, &a.kept, &a.lse_gradients}) {
    std::ranges::reverse(*numbers);
  }
  for (double& slope : a.slopes) slope /= 2;
  for (double& sink : a.sinks) sink = -sink;
  return a;
}

}  // namespace

Certificates AttentionTrial::after_other_attributes(const AttentionCase& attention) {
  AttentionCase other = attention, none = attention;
  other.attributes = changed(attention.attributes);
  none.attributes = {};
  none.attributes.top_left = attention.attributes.top_left;
  none.attributes.cache = attention.attributes.cache;
  return in_turn({{attention, ""},
                  {other, " (other attributes)"},
                  {none, " (no attributes)"},
                  {attention, " (after other calls)"}});
}

Certificates AttentionTrial::outside_window(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  if (s.queries == 0) return certificates;
  const auto query = [&](std::size_t b) { return attention.queries_of(b) / 2; };
  AttentionCase poisoned = attention;
  poisoned.mask.clear();
  if (!domain_.hides_finite_numbers()) {
    for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
      for (std::size_t j = 0; j < s.keys; ++j) {
        if (poisoned.sees(head / s.kv_heads, 0, query(head / s.kv_heads), j)) continue;
        const std::size_t row = head * s.keys + j;
        std::fill_n(poisoned.keys.begin() + static_cast<std::ptrdiff_t>(row * s.dim), s.dim, numerics::nan);
        std::fill_n(poisoned.values.begin() + static_cast<std::ptrdiff_t>(row * s.value_dim), s.value_dim,
                    numerics::nan);
      }
    }
  }
  const std::string remark = domain_.hides_finite_numbers() ? ""
                             : attention.sequences.any()
                                 ? " (NaN where the middle query of each sequence does not look)"
                                 : " (NaN where query " + std::to_string(s.queries / 2) + " does not look)";
  const Outputs got = call(poisoned, remark, certificates);
  judge(poisoned, got, remark, certificates,
        {[&](std::size_t b, std::size_t, std::size_t i) { return i == query(b); }});
  return certificates;
}

}  // namespace softcheck::proptests
