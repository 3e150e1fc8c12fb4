#include "models/forward/row_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/forward/product.hpp"

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;

namespace {

constexpr Index block_queries = 64;

struct SeenKeys {
  Index begin, end;
};

SeenKeys seen_keys(bool causal, std::optional<std::uint64_t> window, Index query, Index keys) {
  if (!causal) return {0, keys};
  const auto most = static_cast<Index>(std::min<std::uint64_t>(window.value_or(1u << 30), 1u << 30));
  return {std::max<Index>(0, query + 1 - most), query + 1};
}

// sees_first   the first of them is of the input's first token
RowStatistics statistics_of(std::span<const double> logits, bool sees_first) {
  const auto top = std::ranges::max_element(logits);
  RowStatistics row{.items = static_cast<std::int64_t>(logits.size()),
                    .largest = *top,
                    .smallest = *std::ranges::min_element(logits)};
  double moment = 0;
  for (auto logit = logits.begin(); logit != logits.end(); ++logit) {
    if (logit == top) continue;
    const double weight = std::exp(*logit - row.largest);
    row.others += weight;
    moment += weight * (*logit - row.largest);
  }
  // H = ln S - sum w (e - M) / S.
  row.entropy = std::log1p(row.others) - moment / (1 + row.others);
  if (sees_first) row.first_coefficient = std::exp(logits[0] - row.largest) / (1 + row.others);
  return row;
}

}  // namespace

// Weights in the unit of the largest logit M' of all: the items' S = 1 + others is a S, a = e^(M - M'), their moment
// sum w (e - M) = S (ln S - H) moves by S (M - M'), and the sink adds w = e^(s - M') to one and w (s - M') to the
// other.
RowStatistics with_sink(const RowStatistics& row, double sink) {
  RowStatistics whole = row;
  ++whole.items;
  whole.largest = std::max(row.largest, sink);
  whole.smallest = std::min(row.smallest, sink);
  const double a = std::exp(row.largest - whole.largest), w = std::exp(sink - whole.largest), items = 1 + row.others;
  whole.others = sink > row.largest ? a * items : row.others + w;
  const double moment =
      a * items * (std::log1p(row.others) - row.entropy + (row.largest - whole.largest)) + w * (sink - whole.largest);
  whole.entropy = std::log1p(whole.others) - moment / (1 + whole.others);
  whole.first_coefficient = row.first_coefficient * a * items / (1 + whole.others);
  return whole;
}

void each_row(const LayerAttention& layer, const HeadDescription& head, const TokenRange& input, Index first,
              Index count, const std::function<void(const RowStatistics& row, std::span<const double> logits)>& seen) {
  const Index width = head.query.outputs.count;
  const auto keys_of = [&](Index query) { return seen_keys(head.causal, layer.window, query, input.count); };
  for (Index at = first; at < first + count; at += block_queries) {
    const Index queries = std::min(block_queries, first + count - at);
    const Index begin = keys_of(at).begin;
    const Index end = keys_of(at + queries - 1).end;
    const MatrixXd keys = layer.key.block(head.key_head * width, input.first + begin, width, end - begin);
    MatrixXd logits(end - begin, queries);
    multiply(keys, true, layer.query.block(head.head * width, input.first + at, width, queries), logits);
    logits *= head.scale.midpoint();
    if (head.softcap) logits = *head.softcap * (logits / *head.softcap).array().tanh();
    for (Index i = 0; i < queries; ++i) {
      const SeenKeys own = keys_of(at + i);
      const std::span<const double> row(&logits(own.begin - begin, i), static_cast<std::size_t>(own.end - own.begin));
      seen(statistics_of(row, own.begin == 0), row);
    }
  }
}

}  // namespace softcheck::models
