#include "models/bounds/reached_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/bounds/plane_weights.hpp"

namespace softcheck::models {
namespace {

// The largest and least q . k of the keys at one place.
struct PlaceEnds {
  double high = 0, low = 0;
  PlacedKey highest, lowest;
};

// R^T u for lags 1 ... lags, in doubles.
MatrixXd turned_to_lags(const HeadDescription& head, const VectorXd& u, Index lags) {
  MatrixXd turned = u.replicate(1, lags);
  const std::vector<theory::Plane> planes = planes_of(*head.rotary, u.size());
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const auto first = static_cast<Index>(planes[p].first), second = static_cast<Index>(planes[p].second);
    if (first == second) continue;
    const double frequency = head.rotary->frequencies.back()[p].midpoint() * (head.causal ? -1 : 1);
    for (Index lag = 0; lag < lags; ++lag) {
      const double c = std::cos(static_cast<double>(lag + 1) * frequency);
      const double s = std::sin(static_cast<double>(lag + 1) * frequency);
      turned(first, lag) = c * u(first) + s * u(second);
      turned(second, lag) = c * u(second) - s * u(first);
    }
  }
  return turned;
}

// Every place that other items than the query's can stand at.
std::vector<PlaceEnds> places_of(const HeadDescription& head, const TokenTable& table, const SampledInputs& sample,
                                 std::size_t query, Index lags) {
  const VectorXd u = sample.queries.col(static_cast<Index>(query));
  std::vector<PlaceEnds> places;
  if (head.rotary) {
    const MatrixXd logits = sample.keys.transpose() * turned_to_lags(head, u, lags);
    for (Index lag = 0; lag < lags; ++lag) {
      Index highest = 0, lowest = 0;
      PlaceEnds ends{logits.col(lag).maxCoeff(&highest), logits.col(lag).minCoeff(&lowest), {}, {}};
      ends.highest = {static_cast<std::size_t>(highest), lag + 1};
      ends.lowest = {static_cast<std::size_t>(lowest), lag + 1};
      places.push_back(ends);
    }
    return places;
  }
  const VectorXd logits = sample.keys.transpose() * u;
  const std::int64_t own = table.position_of(sample.inputs[query].added);
  std::map<std::int64_t, PlaceEnds> by_position;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const std::int64_t position = table.position_of(sample.inputs[i].added);
    if (head.causal ? position >= own : position == own) continue;
    const double value = logits(static_cast<Index>(i));
    const auto [at, fresh] = by_position.try_emplace(position, PlaceEnds{value, value, {i, 0}, {i, 0}});
    PlaceEnds& ends = at->second;
    if (value > ends.high) ends = {value, ends.low, {i, 0}, ends.lowest};
    if (value < ends.low) ends = {ends.high, value, ends.highest, {i, 0}};
  }
  for (const auto& [position, ends] : by_position) places.push_back(ends);
  return places;
}

}  // namespace

ReachedInputs reach_inputs(const HeadDescription& head, const TokenTable& table, const SampledInputs& sample,
                           const std::vector<std::size_t>& queries, Index lags) {
  ReachedInputs reached;
  for (const std::size_t query : queries) {
    const std::vector<PlaceEnds> places = places_of(head, table, sample, query, lags);
    for (const PlaceEnds& high : places) {
      for (const auto& [value, key] : {std::pair(high.high, high.highest), std::pair(-high.low, high.lowest)}) {
        if (!(value > reached.logit)) continue;
        reached.logit = value;
        reached.logit_query = query;
        reached.logit_key = key;
      }
      for (const PlaceEnds& low : places) {
        if (&high == &low || !(high.high - low.low > reached.spread)) continue;
        reached.spread = high.high - low.low;
        reached.query = query;
        reached.high = high.highest;
        reached.low = low.lowest;
        reached.two_keys = true;
      }
    }
  }
  return reached;
}

}  // namespace softcheck::models
