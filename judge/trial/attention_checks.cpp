#include <algorithm>
#include <functional>
#include <iterator>
#include <system_error>

#include "judge/call/attention_call.hpp"
#include "judge/call/sequence_layout.hpp"
#include "judge/ops/attention/attention_poison.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/trial/attention_trial.hpp"
#include "numerics/formats/special_values.hpp"

// Checks of attention kernels, one function per property.

namespace softcheck::proptests {
namespace {

using numerics::nan;

// Sets the chosen keys of every head to NaN; with largest_too, every second one to the largest number.
void poison(AttentionCase& a, const std::function<bool(std::size_t b, std::size_t j)>& chosen, bool largest_too) {
  const AttentionShape& s = a.shape;
  const double largest = numerics::properties(a.cache_format()).largest;
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (!chosen(head / s.kv_heads, j)) continue;
      const double value = largest_too && j % 2 == 0 ? largest : nan;
      const auto key = a.keys.begin() + static_cast<std::ptrdiff_t>((head * s.keys + j) * s.dim);
      std::fill_n(key, s.dim, value);
      const auto first = a.values.begin() + static_cast<std::ptrdiff_t>((head * s.keys + j) * s.value_dim);
      std::fill_n(first, s.value_dim, value);
    }
  }
}

// Does every query of a causal call see a key?
bool every_query_sees_a_key(const AttentionCase& a) {
  if (!a.sequences.any()) return a.shape.keys >= a.shape.queries;
  for (std::size_t b = 0; b < a.shape.batch; ++b) {
    if (a.keys_of(b) < a.queries_of(b)) return false;
  }
  return true;
}

// The first `kept` of every `size` numbers.
std::vector<double> first_of_each(const std::vector<double>& numbers, std::size_t size, std::size_t kept) {
  std::vector<double> result;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k % size < kept) result.push_back(numbers[k]);
  }
  return result;
}

// Gives each attribute that is on another value.
AttentionAttributes changed(AttentionAttributes a) {
  const auto longer = [](std::optional<std::size_t>& side) {
    if (side) ++*side;
  };
  longer(a.window_left);
  longer(a.window_right);
  a.softcap /= 2;
  for (std::vector<double>* numbers : {&a.sinks, &a.slopes, &a.bias, &a.kept, &a.lse_gradients, &a.lambdas}) {
    std::ranges::reverse(*numbers);
  }
  for (double& slope : a.slopes) slope /= 2;
  for (double& sink : a.sinks) sink = -sink;
  return a;
}

// Overwrites the numbers of all sequences except one.
void fill_others(std::vector<double>& numbers, std::size_t of_each, std::size_t stays, double value) {
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k / of_each != stays) numbers[k] = value;
  }
}

}  // namespace

Certificates AttentionTrial::as_it_is(const AttentionCase& attention) {
  Certificates certificates;
  const Outputs got = call(attention, "", certificates);
  judge(attention, got, "", certificates);
  if (got.empty()) return certificates;
  const Outputs again = call(attention, " (second call)", certificates);
  if (again.empty()) return certificates;
  bool same = true;
  for (std::size_t k = 0; k < got.size(); ++k) same &= same_bits(got[k], again[k]);
  if (!same) judge(attention, again, " (second call)", certificates);
  for (std::size_t k = 0; k < got.size(); ++k) {
    kernel_.compare(got[k], again[k], required_.deterministic, "kernel.deterministic",
                    "a second call with the same numbers gave other bits", asked(attention, ""), certificates);
  }
  return certificates;
}

Certificates AttentionTrial::laid_out(const AttentionCase& attention) {
  Certificates certificates;
  const Outputs got = call(attention, "", certificates);
  judge(attention, got, "", certificates);
  if (got.empty() || attention.shape.queries == 0) return certificates;
  compare_alone(attention, got, 0, 0, certificates);
  const std::size_t batch = attention.shape.batch - 1, head = attention.shape.heads() - 1;
  if (batch + head > 0) compare_alone(attention, got, batch, head, certificates);
  return certificates;
}

Certificates AttentionTrial::in_turn(const std::vector<RemarkedCase>& calls) {
  Certificates certificates;
  for (const auto& [attention, remark] : calls) {
    const Outputs got = call(attention, remark, certificates);
    Certificates after;
    judge(attention, got, remark, after);
    if (numerics::worst(after) == numerics::Verdict::violated) {
      Certificates alone = by_itself(attention);
      if (numerics::worst(alone) == numerics::Verdict::violated) {
        std::ranges::move(alone, std::back_inserter(certificates));
        return certificates;
      }
    }
    std::ranges::move(after, std::back_inserter(certificates));
  }
  return certificates;
}

Certificates AttentionTrial::by_itself(const AttentionCase& attention) {
  Certificates certificates;
  const bool anew = kernel_.start_anew();
  if (!anew) {
    AttentionCase other = attention;
    for (std::vector<double>* numbers : {&other.queries, &other.keys, &other.values, &other.gradients}) {
      std::ranges::reverse(*numbers);
      for (double& number : *numbers) number = -number;
    }
    call(other, " (all numbers backwards with their signs turned)", certificates);
  }
  call_and_judge(attention, anew ? " (the first call of its process)" : " (after a call of other numbers)",
                 certificates);
  for (numerics::Certificate& certificate : certificates) {
    const bool failed = certificate.verdict != numerics::Verdict::proved;
    certificate = of_call_alone(std::move(certificate), failed ? to_text(attention) : "");
  }
  return certificates;
}

Certificates AttentionTrial::after_others(const AttentionCase& attention) {
  AttentionCase scaled = attention;
  scaled.scale = attention.scale / 2;
  AttentionCase swapped = attention;
  std::ranges::reverse(swapped.queries);
  std::ranges::reverse(swapped.values);
  std::ranges::reverse(swapped.gradients);
  AttentionCase other = attention;
  other.mask.clear();
  other.causal = !attention.causal && every_query_sees_a_key(attention);
  return in_turn({{scaled, " (half the scale)"},
                  {swapped, attention.attributes.classes ? " (rows backwards)" : " (queries and values backwards)"},
                  {other, other.causal ? " (causal)" : " (not causal)"},
                  {attention, " (after other calls)"}});
}

Certificates AttentionTrial::masked_as_deleted(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  AttentionCase masked = attention;
  // Key 0 stays visible, so that every query sees a key even with causality.
  const auto hidden = [](std::size_t j) { return j % 3 != 0; };
  masked.mask_for_each_head = s.keys % 2 == 0;
  masked.mask.assign(s.batch * masked.mask_heads() * s.queries * s.keys, 1);
  for (std::size_t k = 0; k < masked.mask.size(); ++k) masked.mask[k] = hidden(k % s.keys) ? 0 : 1;
  if (!domain_.hides_finite_numbers()) {
    poison(
        masked, [&](std::size_t, std::size_t j) { return hidden(j); }, true);
  }
  const bool finite = domain_.hides_finite_numbers();
  call_and_judge(masked, finite ? " (two of three keys masked)" : " (two of three keys masked, NaN and huge)",
                 certificates);
  return certificates;
}

Certificates AttentionTrial::later_keys(const AttentionCase& attention) {
  Certificates certificates;
  if (!every_query_sees_a_key(attention)) return certificates;
  AttentionCase causal = attention;
  causal.causal = true;
  const auto seeing = [&](std::size_t b) { return causal.queries_of(b) / 2; };
  const auto first = [&](std::size_t b) { return causal.reported_keys(b, seeing(b)) - 1; };
  if (!domain_.hides_finite_numbers()) {
    poison(
        causal, [&](std::size_t b, std::size_t j) { return causal.queries_of(b) > 0 && j >= first(b); }, false);
  }
  std::size_t whole = 0;  // the sequence that the remark names
  while (whole + 1 < causal.shape.batch && causal.queries_of(whole) == 0) ++whole;
  const std::string remark = domain_.hides_finite_numbers() ? " (causal)"
                             : causal.sequences.any()       ? " (NaN from the middle query's key on)"
                                                            : " (NaN from key " + std::to_string(first(whole)) + " on)";
  const Outputs got = call(causal, remark, certificates);
  if (got.empty()) return certificates;
  judge(causal, got, remark, certificates, {[&](std::size_t b, std::size_t, std::size_t i) { return i < seeing(b); }});
  return certificates;
}

Certificates AttentionTrial::blind(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  AttentionCase half = attention;
  half.causal = domain_.all_causal;
  half.mask_for_each_head = s.scores() % 2 == 0;
  half.mask.assign(s.batch * half.mask_heads() * s.queries * s.keys, 1);
  for (std::size_t k = 0; k < half.mask.size(); ++k) half.mask[k] = k / s.keys % 2;
  call_and_judge(half, " (every second query sees nothing)", certificates);
  if (s.queries < 2) return certificates;
  AttentionCase early = attention;
  early.causal = true;
  early.mask.clear();
  // With more queries than keys, the first queries see nothing.
  std::size_t keys = std::min<std::size_t>(s.keys, domain_.length("keys").nearest(s.queries / 2));
  // If the domain's keys are longer than half the queries, take the longest that is shorter than them.
  if (keys >= s.queries) keys = domain_.length("keys").at_most(s.queries - 1).value_or(s.queries / 2);
  early.shape.keys = keys;
  early.keys = first_of_each(early.keys, s.keys * s.dim, keys * s.dim);
  early.values = first_of_each(early.values, s.keys * s.value_dim, keys * s.value_dim);
  limit_lengths(early);
  call_and_judge(early, " (causal, more queries than keys)", certificates);
  return certificates;
}

Certificates AttentionTrial::empty(const AttentionCase& attention) {
  Certificates certificates;
  // All three kinds, so that a smaller case fails by the same kind.
  for (const auto length : {&AttentionShape::keys, &AttentionShape::queries, &AttentionShape::batch}) {
    AttentionCase nothing = attention;
    nothing.mask.clear();
    nothing.shape.*length = 0;
    if (domain_.equal_lengths && length != &AttentionShape::batch) nothing.shape.queries = nothing.shape.keys = 0;
    const AttentionShape& s = nothing.shape;
    nothing.queries.resize(s.batch * s.heads() * s.queries * s.dim);
    if (!nothing.gradients.empty()) nothing.gradients.resize(s.batch * s.heads() * s.queries * s.value_dim);
    nothing.keys.resize(s.batch * s.kv_heads * s.keys * s.dim);
    nothing.values.resize(s.batch * s.kv_heads * s.keys * s.value_dim);
    limit_lengths(nothing);
    call_and_judge(nothing, "", certificates);
  }
  return certificates;
}

Certificates AttentionTrial::of_classes(const AttentionCase& attention) {
  Certificates certificates;
  const Outputs got = call(attention, "", certificates);
  judge(attention, got, "", certificates);
  if (got.empty() || attention.nan == 0 || attention.shape.scores() == 0) return certificates;
  const Certificates poisoned = with_a_nan(attention, &got);
  certificates.insert(certificates.end(), poisoned.begin(), poisoned.end());
  return certificates;
}

Certificates AttentionTrial::with_a_nan(const AttentionCase& attention) { return with_a_nan(attention, nullptr); }

Certificates AttentionTrial::with_a_nan(const AttentionCase& attention, const Outputs* without) {
  Certificates certificates;
  if (domain_.values_view || !PoisonedCase::is_possible(attention)) return certificates;
  AttentionCase not_expanded = attention;
  not_expanded.attributes.expanded = false;
  const PoisonedCase poisoned(not_expanded, domain_.visible_nan);
  TensorCall tensors = op().call(task_, poisoned.attention);
  const std::size_t element = attention.sequences.any()
                                  ? SequenceLayout(poisoned.attention).element_of(poisoned.tensor, poisoned.element)
                                  : poisoned.element;
  const std::size_t place = element_in_call(poisoned.attention, tensors, poisoned.tensor, element);
  tensors.inputs[poisoned.tensor].patterns = {{place, poisoned.bits}};
  const Outputs got = call(poisoned.attention, std::move(tensors), poisoned.remark, certificates);
  if (got.empty()) return certificates;
  certificates.push_back(are_nan(poisoned, got));
  const auto alone = [&](std::size_t b, std::size_t h, std::size_t i) { return poisoned.leaves_alone(b, h, i); };
  const auto unchanged = [&](std::size_t b, std::size_t h, std::size_t) { return poisoned.keeps_numbers(b, h); };
  judge(poisoned.attention, got, poisoned.remark, certificates, {alone, without, unchanged});
  if (attention.nan != 0) meet_nan(coverage_, poisoned.place.number());
  return certificates;
}

Certificates AttentionTrial::far_apart(const AttentionCase& attention) {
  Certificates certificates;
  // Two batches or heads of one key head: gigabytes of addresses but few pages of memory. Each call has its own child.
  AttentionCase two = attention;
  const AttentionShape& s = two.shape;
  const std::size_t places = two.attributes.classes ? std::max(s.queries, s.keys) : s.batch * s.kv_heads;
  if (places < 2) return certificates;
  // Each batch and head has pages of its own.
  constexpr std::size_t most_places = 1024;
  if (places > most_places) {
    not_tried_.insert("indices beyond 2^31: the domain has no call of 2 to " + std::to_string(most_places) +
                      " batches and heads");
    return certificates;
  }
  const std::string remark = " (batches or heads 2^30 to 2^32 elements apart)";
  try {
    const Outputs got = call(two, proptests::far_apart(op().call(task_, two)), remark, certificates);
    judge(two, got, remark, certificates);
  } catch (const std::system_error& error) {
    not_tried_.insert(std::string("indices beyond 2^31: ") + error.what());
  }
  return certificates;
}

Certificates AttentionTrial::after_other_attributes(const AttentionCase& attention) {
  AttentionCase other = attention, none = attention;
  other.attributes = changed(attention.attributes);
  none.attributes = {};
  none.attributes.top_left = attention.attributes.top_left;
  none.attributes.cache = attention.attributes.cache;
  none.attributes.lambdas = attention.attributes.lambdas;
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
