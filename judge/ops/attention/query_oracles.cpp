#include "judge/ops/attention/query_oracles.hpp"

#include "judge/ops/attention/attention_thresholds.hpp"

namespace softcheck::proptests {

using namespace numerics;

QueryOracles::QueryOracles(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items)
    : row_(row), items_(items.size()), sigmoid_(task.op->sigmoid) {
  if (task.op->adaptive) definition_ = definition_of(task.contract);
  for (const std::size_t j : items) {
    const auto take = [j](std::vector<double>& to, std::span<const double> from, std::size_t size) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(j * size),
                from.begin() + static_cast<std::ptrdiff_t>((j + 1) * size));
    };
    take(keys_, row.keys, row.query.size());
    take(values_, row.values, row.value_size);
    if (!row.kept.empty()) factors_.push_back(row.factor(j));
    if (row.slope != 0) take(distances_, row.distances, 1);
    if (!row.bias.empty()) take(bias_, row.bias, 1);
  }
  if (!task.op->differential) return;
  AttentionTask one_map = task;
  one_map.op = Op::attention;
  second_row_ = row.second();
  second_ = std::make_unique<QueryOracles>(one_map, second_row_, items);
}

Enclosure QueryOracles::value(AttentionClaim claim, std::size_t column) {
  const AttentionOracle& oracle = now();
  if (claim == AttentionClaim::lse) return oracle.logsumexp();
  if (claim == AttentionClaim::entropy) return oracle.entropy();
  std::vector<Enclosure>& output = outputs_[working_precision()];
  if (output.empty()) output = sigmoid_ ? oracle.sigmoid_output(row_.sigmoid_bias) : oracle.output();
  return second_ ? output[column] - Enclosure(row_.lambda) * second_->value(claim, column) : output[column];
}

const AttentionOracle& QueryOracles::now() {
  std::unique_ptr<AttentionOracle>& oracle = oracles_[working_precision()];
  if (!oracle) {
    const AttentionInputs inputs{.query = row_.query,
                                 .keys = keys_,
                                 .values = values_,
                                 .value_size = row_.value_size,
                                 .scale = row_.scale,
                                 .items = items_,
                                 .softcap = row_.softcap,
                                 .slope = row_.slope,
                                 .distances = distances_,
                                 .bias = bias_,
                                 .sink = row_.sink,
                                 .factors = factors_};
    oracle = std::make_unique<AttentionOracle>(inputs, definition_);
  }
  return *oracle;
}

}  // namespace softcheck::proptests
