#include "judge/ops/attention/query_oracles.hpp"

#include "judge/ops/attention/attention_thresholds.hpp"

namespace softcheck::proptests {

using namespace numerics;

QueryOracles::QueryOracles(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items)
    : task_(task), row_(row), items_(items) {
  if (task.op->adaptive) definition_ = definition_of(task.contract);
}

void QueryOracles::read_inputs() {
  for (const std::size_t j : items_) {
    const auto take = [j](std::vector<double>& to, std::span<const double> from, std::size_t size) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(j * size),
                from.begin() + static_cast<std::ptrdiff_t>((j + 1) * size));
    };
    take(keys_, row_.keys, row_.query.size());
    take(values_, row_.values, row_.value_size);
    if (!row_.kept.empty()) factors_.push_back(row_.factor(j));
    if (row_.slope != 0) take(distances_, row_.distances, 1);
    if (!row_.bias.empty()) take(bias_, row_.bias, 1);
  }
  if (!task_.op->differential) return;
  second_ = std::make_unique<OtherMap>(OtherMap{task_, row_.second(), nullptr});
  second_->task.op = Op::attention;
  second_->oracles = std::make_unique<QueryOracles>(second_->task, second_->row, items_);
}

Enclosure QueryOracles::value(AttentionClaim claim, std::size_t column) {
  const AttentionOracle& oracle = now();
  if (claim == AttentionClaim::lse) return oracle.logsumexp();
  if (claim == AttentionClaim::entropy) return oracle.entropy();
  std::vector<Enclosure>& output = outputs_[working_precision()];
  if (output.empty()) output = task_.op->sigmoid ? oracle.sigmoid_output(row_.sigmoid_bias) : oracle.output();
  return second_ ? output[column] - Enclosure(row_.lambda) * second_->oracles->value(claim, column) : output[column];
}

const AttentionOracle& QueryOracles::now() {
  std::unique_ptr<AttentionOracle>& oracle = oracles_[working_precision()];
  if (!oracle) {
    if (oracles_.size() == 1) read_inputs();
    const AttentionInputs inputs{.query = row_.query,
                                 .keys = keys_,
                                 .values = values_,
                                 .value_size = row_.value_size,
                                 .scale = row_.scale,
                                 .items = items_.size(),
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
