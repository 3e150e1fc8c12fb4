#include "proptests/judge/attention_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "proptests/judge/attention_call.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Decision;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Everything but the numbers: those stand in the replay line.
std::string witness_of(const AttentionCase& attention, const std::string& remark) {
  AttentionCase without = attention;
  without.queries.clear();
  without.keys.clear();
  without.values.clear();
  std::string text = to_text(without);
  text.resize(text.find(" mask="));
  if (!attention.mask.empty()) text += attention.mask_for_each_head ? " mask=heads" : " mask=shared";
  return text + remark;
}

std::string kind_of(const AttentionCase& a) {
  std::string kind = a.outputs == 1 ? "for out" : a.outputs == 2 ? "for out and lse" : "for out, lse and entropy";
  if (a.shape.queries == 0 || a.shape.keys == 0 || a.shape.batch == 0) return kind + " of nothing";
  if (!a.mask.empty()) kind += ", with a mask";
  if (a.causal) kind += ", causal";
  if (a.shape.group > 1) kind += ", with grouped heads";
  if (a.layout != 0) kind += ", with strides";
  return kind;
}

std::size_t row_number(const AttentionShape& s, std::size_t b, std::size_t h, std::size_t i) {
  return (b * s.heads() + h) * s.queries + i;
}

std::string place_of(const AttentionShape& s, std::size_t row) {
  const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
  return " at batch=" + std::to_string(b) + " head=" + std::to_string(h) + " query=" + std::to_string(i);
}

AttentionRow row_of(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t i) {
  const AttentionShape& s = a.shape;
  const std::size_t head = b * s.kv_heads + h / s.group;
  AttentionRow row;
  row.query = std::span(a.queries).subspan(row_number(s, b, h, i) * s.dim, s.dim);
  row.keys = std::span(a.keys).subspan(head * s.keys * s.dim, s.keys * s.dim);
  row.values = std::span(a.values).subspan(head * s.keys * s.value_dim, s.keys * s.value_dim);
  row.value_size = s.value_dim;
  row.scale = a.scale;
  for (std::size_t j = 0; j < s.keys; ++j) row.visible.push_back(a.sees(b, h, i, j) ? 1 : 0);
  return row;
}

AttentionValues values_of(const AttentionCase& a, const std::vector<std::vector<double>>& got, std::size_t row) {
  AttentionValues values;
  values.out = std::span(got[0]).subspan(row * a.shape.value_dim, a.shape.value_dim);
  if (got.size() > 1) values.lse = got[1][row];
  if (got.size() > 2) values.entropy = got[2][row];
  return values;
}

// The keys of every head from first on, by steps, become NaN, or every second of them the largest number.
void poison(AttentionCase& a, const std::function<bool(std::size_t)>& chosen, bool largest_too) {
  const AttentionShape& s = a.shape;
  const double largest = numerics::properties(a.format).largest;
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (!chosen(j)) continue;
      const double value = largest_too && j % 2 == 0 ? largest : nan;
      const auto key = a.keys.begin() + static_cast<std::ptrdiff_t>((head * s.keys + j) * s.dim);
      std::fill_n(key, s.dim, value);
      const auto first = a.values.begin() + static_cast<std::ptrdiff_t>((head * s.keys + j) * s.value_dim);
      std::fill_n(first, s.value_dim, value);
    }
  }
}

// The first kept numbers of every size of them.
std::vector<double> first_of_each(const std::vector<double>& numbers, std::size_t size, std::size_t kept) {
  std::vector<double> result;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    if (k % size < kept) result.push_back(numbers[k]);
  }
  return result;
}

template <class Callback>
void each_row(const AttentionShape& s, Callback callback) {
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads(); ++h) {
      for (std::size_t i = 0; i < s.queries; ++i) callback(b, h, i);
    }
  }
}

}  // namespace

AttentionTrial::AttentionTrial(const KernelSubject& subject, const KernelLimits& limits)
    : required_(subject.required), kernel_(subject.source, limits, subject.exempt) {
  task_.op = subject.op;
  task_.contract = subject.contract;
  task_.contract.output = subject.contract.input;
  task_.scalars = subject.contract.output;
}

auto AttentionTrial::call(const AttentionCase& attention, const TensorCall& tensors, const std::string& remark,
                          Certificates& certificates) -> Outputs {
  return kernel_.call(tensors, kind_of(attention), witness_of(attention, remark), certificates);
}

auto AttentionTrial::call(const AttentionCase& attention, const std::string& remark, Certificates& certificates)
    -> Outputs {
  return call(attention, attention_call(attention, task_.scalars), remark, certificates);
}

void AttentionTrial::judge(const AttentionCase& attention, const Outputs& got, const std::string& remark,
                           Certificates& certificates, const Rows& chosen) {
  if (got.empty()) return;
  WorstFindings worst;
  each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (chosen && !chosen(b, h, i)) return;
    const std::size_t row = row_number(attention.shape, b, h, i);
    RowVerdicts verdicts = judge_attention(task_, row_of(attention, b, h, i), values_of(attention, got, row));
    vacuity_ += verdicts.vacuity;
    ++judged_rows_;
    for (ValueFinding& finding : verdicts.findings) {
      tally_.add(finding, [&] { return witness_of(attention, remark) + place_of(attention.shape, row); });
      worst.add(std::move(finding), row);
    }
  });
  const numerics::PrecisionScope precision(113);
  for (const auto& [claim, of] : worst.by_claim()) {
    const bool is_output = claim.ends_with(".output");
    certificates.push_back(certificate_of(of.finding, witness_of(attention, remark) + place_of(attention.shape, of.row),
                                          is_output ? task_.contract.output : task_.scalars));
  }
}

void AttentionTrial::call_and_judge(const AttentionCase& attention, const std::string& remark,
                                    Certificates& certificates) {
  judge(attention, call(attention, remark, certificates), remark, certificates);
}

std::size_t AttentionTrial::numbers_in(const AttentionCase& attention, const Outputs& got, const Rows& chosen,
                                       std::optional<std::size_t> column) {
  std::size_t numbers = 0;
  each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
    if (!chosen(b, h, i)) return;
    const AttentionValues values = values_of(attention, got, row_number(attention.shape, b, h, i));
    if (column) {
      numbers += std::isnan(values.out[*column]) ? 0 : 1;
      return;
    }
    numbers += static_cast<std::size_t>(std::ranges::count_if(values.out, [](double x) { return !std::isnan(x); }));
    if (values.lse) numbers += std::isnan(*values.lse) ? 0 : 1;
    if (values.entropy) numbers += std::isnan(*values.entropy) ? 0 : 1;
  });
  return numbers;
}

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
                    "a second call with the same numbers gave other bits", witness_of(attention, ""), certificates);
  }
  return certificates;
}

void AttentionTrial::compare_alone(const AttentionCase& attention, const Outputs& got, std::size_t b, std::size_t h,
                                   Certificates& certificates) {
  const AttentionShape& s = attention.shape;
  const std::size_t last = row_number(s, b, h, s.queries - 1);
  const AttentionRow row = row_of(attention, b, h, s.queries - 1);
  AttentionCase alone = attention;
  alone.shape.batch = alone.shape.kv_heads = alone.shape.group = alone.shape.queries = 1;
  alone.layout = 0;
  alone.queries.assign(row.query.begin(), row.query.end());
  alone.keys.assign(row.keys.begin(), row.keys.end());
  alone.values.assign(row.values.begin(), row.values.end());
  // The last query is aligned with the last key: causality hides nothing from it.
  if (!attention.mask.empty()) alone.mask = row.visible;
  const Outputs single = call(alone, " (one query alone)", certificates);
  if (single.empty()) return;
  std::vector<double> among, by_itself;
  for (std::size_t k = 0; k < single.size(); ++k) {
    const std::size_t size = k == 0 ? s.value_dim : 1;
    const auto first = got[k].begin() + static_cast<std::ptrdiff_t>(last * size);
    among.insert(among.end(), first, first + static_cast<std::ptrdiff_t>(size));
    by_itself.insert(by_itself.end(), single[k].begin(), single[k].end());
  }
  if (!same_bits(among, by_itself)) judge(alone, single, " (one query alone)", certificates);
  kernel_.compare(among, by_itself, required_.batch_invariant, "kernel.batch_invariant",
                  "a query's bits depend on its layout or its neighbours", witness_of(attention, place_of(s, last)),
                  certificates);
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

Certificates AttentionTrial::after_others(const AttentionCase& attention) {
  Certificates certificates;
  AttentionCase scaled = attention;
  scaled.scale = attention.scale / 2;
  call_and_judge(scaled, " (half the scale)", certificates);
  AttentionCase swapped = attention;
  std::ranges::reverse(swapped.queries);
  std::ranges::reverse(swapped.values);
  call_and_judge(swapped, " (queries and values backwards)", certificates);
  AttentionCase other = attention;
  other.mask.clear();
  other.causal = !attention.causal && attention.shape.keys >= attention.shape.queries;
  call_and_judge(other, other.causal ? " (causal)" : " (not causal)", certificates);
  call_and_judge(attention, " (after other calls)", certificates);
  return certificates;
}

Certificates AttentionTrial::masked_as_deleted(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  AttentionCase masked = attention;
  // Key 0 stays, so that with causality, too, every query sees one.
  const auto hidden = [](std::size_t j) { return j % 3 != 0; };
  masked.mask_for_each_head = s.keys % 2 == 0;
  masked.mask.assign(s.batch * masked.mask_heads() * s.queries * s.keys, 1);
  for (std::size_t k = 0; k < masked.mask.size(); ++k) masked.mask[k] = hidden(k % s.keys) ? 0 : 1;
  poison(masked, hidden, true);
  call_and_judge(masked, " (two of three keys masked, NaN and huge)", certificates);
  return certificates;
}

Certificates AttentionTrial::later_keys(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  if (s.keys < s.queries) return certificates;
  AttentionCase causal = attention;
  causal.causal = true;
  // Query i sees keys 0 to i + keys - queries.
  const std::size_t seeing = s.queries / 2, first = seeing + s.keys - s.queries;
  poison(
      causal, [&](std::size_t j) { return j >= first; }, false);
  const std::string remark = " (NaN from key " + std::to_string(first) + " on)";
  const Outputs got = call(causal, remark, certificates);
  if (got.empty()) return certificates;
  judge(causal, got, remark, certificates, [&](std::size_t, std::size_t, std::size_t i) { return i < seeing; });
  return certificates;
}

Certificates AttentionTrial::blind(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  AttentionCase half = attention;
  half.causal = false;
  half.mask_for_each_head = s.scores() % 2 == 0;
  half.mask.assign(s.batch * half.mask_heads() * s.queries * s.keys, 1);
  for (std::size_t k = 0; k < half.mask.size(); ++k) half.mask[k] = k / s.keys % 2;
  call_and_judge(half, " (every second query sees nothing)", certificates);
  if (s.queries < 2) return certificates;
  AttentionCase early = attention;
  early.causal = true;
  early.mask.clear();
  // More queries than keys: the first ones see nothing.
  const std::size_t keys = std::min(s.keys, s.queries / 2);
  early.shape.keys = keys;
  early.keys = first_of_each(early.keys, s.keys * s.dim, keys * s.dim);
  early.values = first_of_each(early.values, s.keys * s.value_dim, keys * s.value_dim);
  call_and_judge(early, " (causal, more queries than keys)", certificates);
  return certificates;
}

Certificates AttentionTrial::empty(const AttentionCase& attention) {
  Certificates certificates;
  AttentionCase nothing = attention;
  nothing.mask.clear();
  const std::size_t which = (attention.shape.queries + attention.shape.keys) % 3;
  if (which == 0) nothing.shape.keys = 0;
  if (which == 1) nothing.shape.queries = 0;
  if (which == 2) nothing.shape.batch = 0;
  const AttentionShape& s = nothing.shape;
  nothing.queries.resize(s.batch * s.heads() * s.queries * s.dim);
  nothing.keys.resize(s.batch * s.kv_heads * s.keys * s.dim);
  nothing.values.resize(s.batch * s.kv_heads * s.keys * s.value_dim);
  call_and_judge(nothing, "", certificates);
  return certificates;
}

Certificates AttentionTrial::with_a_nan(const AttentionCase& attention) {
  Certificates certificates;
  const AttentionShape& s = attention.shape;
  AttentionCase poisoned = attention;
  const std::size_t which = s.scores() % 3;
  // Of the last batch; of its first head in cases of one kind, of its last in the others.
  const std::size_t batch = s.batch - 1, kv = s.keys % 2 == 0 ? 0 : s.kv_heads - 1;
  const std::size_t query = s.queries / 2, key = s.keys % 3 == 0 ? 0 : s.keys % 3 == 1 ? s.keys - 1 : s.keys / 2;
  const std::size_t head = batch * s.kv_heads + kv, column = s.value_dim - 1;
  std::optional<std::size_t> only;
  Rows meets = [&](std::size_t b, std::size_t h, std::size_t i) {
    return b == batch && h / s.group == kv && poisoned.sees(b, h, i, key);
  };
  std::string what;
  if (which == 0) {
    const std::size_t h = kv * s.group;
    poisoned.queries[row_number(s, batch, h, query) * s.dim + s.dim / 2] = nan;
    meets = [&, h](std::size_t b, std::size_t at, std::size_t i) { return b == batch && at == h && i == query; };
    what = " (a NaN in query " + std::to_string(query) + ")";
  } else if (which == 1) {
    poisoned.keys[(head * s.keys + key) * s.dim + s.dim / 2] = nan;
    what = " (a NaN in key " + std::to_string(key) + ")";
  } else {
    // All weights alike, so that none is 0.
    std::ranges::fill(poisoned.queries, 0.0);
    poisoned.values[(head * s.keys + key) * s.value_dim + column] = nan;
    only = column;
    what = " (a NaN in value " + std::to_string(key) + ")";
  }
  const Outputs got = call(poisoned, what, certificates);
  if (got.empty()) return certificates;
  certificates.push_back(
      observed("kernel.nan_row", witness_of(poisoned, what), numbers_in(poisoned, got, meets, only)));
  judge(poisoned, got, what, certificates,
        [&](std::size_t b, std::size_t h, std::size_t i) { return !meets(b, h, i); });
  return certificates;
}

Certificates AttentionTrial::far_apart(const AttentionCase& attention) {
  Certificates certificates;
  // Two batches of one key head: gigabytes of addresses, a few pages of memory, and a child for each call.
  AttentionCase two = attention;
  const AttentionShape& s = two.shape;
  if (s.batch < 2 && s.kv_heads < 2) return certificates;
  const std::string remark = " (batches or heads 2^30 to 2^32 elements apart)";
  try {
    const Outputs got = call(two, proptests::far_apart(attention_call(two, task_.scalars)), remark, certificates);
    judge(two, got, remark, certificates);
  } catch (const std::system_error& error) {
    not_tried_.insert(std::string("indices beyond 2^31: ") + error.what());
  }
  return certificates;
}

}  // namespace softcheck::proptests
