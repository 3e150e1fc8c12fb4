#include "judge/ops/attention/group_pairs.hpp"

#include <array>
#include <span>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "numerics/rounding/rounding_score_terms.hpp"

namespace softcheck::proptests {

using namespace numerics;

GroupPairs::GroupPairs(const AttentionTask& task, const GradientGroup& group) : task_(task), group_(group) {
  if (group.rows.empty()) return;
  const AttentionRow& first = group.rows.front();
  arithmetic_.value_size = first.value_size;
  arithmetic_.scale = first.scale;
  arithmetic_.out_saved = task.contract.input;
  arithmetic_.lse_saved = task.scalars;
  const std::uint64_t summed = first.sink ? size_with_sink(task.contract, group.keys) : group.keys;
  arithmetic_.key_sum_height = summation_height(task.contract, summed);
  arithmetic_.query_sum_height = summation_height(task.contract, group.rows.size());
  for (std::size_t i = 0; i < group.rows.size(); ++i) add(i);
}

// Repeated queries share their pairs; in long calls most queries repeat another.
void GroupPairs::add(std::size_t i) {
  const AttentionRow& row = group_.rows[i];
  std::string question(is_read(i) ? "r" : "u");
  const auto append = [&](const auto& numbers) {
    question.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0]));
  };
  append(row.query);
  append(gradient_of(i));
  append(row.visible);
  append(row.distances);
  append(row.bias);
  append(row.kept);
  append(std::array{row.softcap, row.slope, row.sink.value_or(0), lse_gradient_of(i).value_or(0)});
  append(std::array{row.label.value_or(row.visible.size())});
  const SavedForward saved = saved_of(i);
  append(saved.out);
  append(std::array{saved.lse});
  std::shared_ptr<const QueryPairs>& known = known_[question];
  if (!known) known = std::make_shared<const QueryPairs>(make(i));
  pairs_.push_back(known);
}

std::span<const double> GroupPairs::gradient_of(std::size_t i) const {
  return group_.out_gradients.subspan(i * arithmetic_.value_size, arithmetic_.value_size);
}

SavedForward GroupPairs::saved_of(std::size_t i) const {
  if (group_.saved != SavedForward::Kind::given) return {group_.saved};
  const std::size_t dv = arithmetic_.value_size;
  return {group_.saved, group_.saved_out.subspan(i * dv, dv), group_.saved_lse[i]};
}

std::optional<double> GroupPairs::lse_gradient_of(std::size_t i) const {
  if (group_.lse_gradients.empty()) return std::nullopt;
  return group_.lse_gradients[i];
}

QueryPairs GroupPairs::make(std::size_t i) const {
  if (is_read(i)) return {task_, group_.rows[i], gradient_of(i), arithmetic_, saved_of(i), lse_gradient_of(i)};
  // Only the keys that such a query sees matter: its numbers may be NaN.
  AttentionRow even = group_.rows[i];
  const std::vector<double> keys(even.keys.size()), values(even.values.size()), query(even.query.size()),
      none(arithmetic_.value_size);
  even.query = query;
  even.keys = keys;
  even.values = values;
  return {task_, even, none, arithmetic_};
}

const QueryGradient& GroupOracles::of(std::size_t query) {
  std::unique_ptr<QueryGradient>& made = made_[{working_precision(), pairs_[query].get()}];
  if (!made) made = std::make_unique<QueryGradient>(make(query));
  return *made;
}

QueryGradient GroupOracles::make(std::size_t query) const {
  const AttentionRow& row = group_.rows[query];
  std::vector<double> keys, values, distances, bias, factors;  // of the visible keys only: others may be NaN
  for (const std::size_t j : pairs_[query]->keys()) {
    const auto take = [j](std::vector<double>& to, std::span<const double> from, std::size_t size) {
      const std::span<const double> taken = from.subspan(j * size, size);
      to.insert(to.end(), taken.begin(), taken.end());
    };
    take(keys, row.keys, row.query.size());
    take(values, row.values, row.value_size);
    if (row.slope != 0) take(distances, row.distances, 1);
    if (!row.bias.empty()) take(bias, row.bias, 1);
    if (!row.kept.empty()) factors.push_back(row.factor(j));
  }
  const AttentionInputs inputs{.query = row.query,
                               .keys = keys,
                               .values = values,
                               .value_size = row.value_size,
                               .scale = row.scale,
                               .items = pairs_[query]->keys().size(),
                               .softcap = row.softcap,
                               .slope = row.slope,
                               .distances = distances,
                               .bias = bias,
                               .sink = row.sink,
                               .factors = factors};
  return query_gradient(inputs, group_.out_gradients.subspan(query * row.value_size, row.value_size),
                        group_.lse_gradients.empty() ? 0 : group_.lse_gradients[query],
                        row.label ? pairs_[query]->pair_of(*row.label) : std::nullopt);
}

namespace {

// The queries of `count` heads from first_head on, which use the same key head.
GradientGroup queries_of_heads(const AttentionCase& a, std::size_t b, std::size_t first_head, std::size_t count,
                               const std::function<bool(std::size_t, std::size_t)>& chosen) {
  const AttentionShape& s = a.shape;
  // Queries of successive heads have consecutive numbers.
  const std::size_t first = row_number(s, b, first_head, 0), m = count * s.queries;
  GradientGroup group;
  group.keys = s.keys;
  group.own_keys = a.keys_of(b);
  for (std::size_t q = 0; q < m; ++q) {
    const std::size_t h = first_head + q / s.queries, i = q % s.queries;
    group.rows.push_back(row_of(a, b, h, i));
    if (a.sequences.any()) group.absent.push_back(i >= a.queries_of(b));
    if (chosen) group.chosen.push_back(chosen(h, i));
  }
  group.out_gradients = std::span(a.gradients).subspan(first * s.value_dim, m * s.value_dim);
  const std::span<const double> by_lse = a.attributes.lse_gradients;
  if (!by_lse.empty()) group.lse_gradients = by_lse.subspan(first, m);
  return group;
}

}  // namespace

GradientGroup gradient_group(const AttentionCase& a, std::size_t b, std::size_t kv,
                             const std::function<bool(std::size_t, std::size_t)>& chosen) {
  return queries_of_heads(a, b, kv * a.shape.group, a.shape.group, chosen);
}

GradientGroup head_queries(const AttentionCase& a, std::size_t b, std::size_t h,
                           const std::function<bool(std::size_t, std::size_t)>& chosen) {
  return queries_of_heads(a, b, h, 1, chosen);
}

}  // namespace softcheck::proptests
