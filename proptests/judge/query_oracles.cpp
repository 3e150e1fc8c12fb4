#include "proptests/judge/query_oracles.hpp"

#include "proptests/judge/attention_thresholds.hpp"

namespace softcheck::proptests {

using namespace numerics;

QueryOracles::QueryOracles(const AttentionTask& task, const AttentionRow& row, std::span<const std::size_t> items)
    : query_(row.query), scale_(row.scale), value_size_(row.value_size), items_(items.size()) {
  if (task.op->adaptive) definition_ = definition_of(task.contract);
  for (const std::size_t j : items) {
    const auto take = [j](std::vector<double>& to, std::span<const double> from, std::size_t size) {
      to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(j * size),
                from.begin() + static_cast<std::ptrdiff_t>((j + 1) * size));
    };
    take(keys_, row.keys, row.query.size());
    take(values_, row.values, row.value_size);
  }
}

Enclosure QueryOracles::value(AttentionClaim claim, std::size_t column) {
  const AttentionOracle& oracle = now();
  if (claim == AttentionClaim::lse) return oracle.logsumexp();
  if (claim == AttentionClaim::entropy) return oracle.entropy();
  std::vector<Enclosure>& output = outputs_[working_precision()];
  if (output.empty()) output = oracle.output();
  return output[column];
}

const AttentionOracle& QueryOracles::now() {
  std::unique_ptr<AttentionOracle>& oracle = oracles_[working_precision()];
  if (!oracle) {
    const AttentionInputs inputs{
        .query = query_, .keys = keys_, .values = values_, .value_size = value_size_, .scale = scale_, .items = items_};
    oracle = std::make_unique<AttentionOracle>(inputs, definition_);
  }
  return *oracle;
}

}  // namespace softcheck::proptests
