#include "judge/ops/attention/group_oracles.hpp"

#include <span>

namespace softcheck::proptests {

using namespace numerics;

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

}  // namespace softcheck::proptests
