#include "judge/ops/attention/group_pairs.hpp"

#include <array>

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

}  // namespace softcheck::proptests
