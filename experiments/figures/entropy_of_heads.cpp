#include "experiments/figures/entropy_of_heads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <tuple>

#include "experiments/max_retrieval_sets.hpp"
#include "models/bounds/certify_checkpoint.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/forward/row_statistics.hpp"
#include "theory/entropy_bounds.hpp"

namespace softcheck::experiments {

using Eigen::Index;
using models::TokenIds;

namespace {

constexpr std::int64_t fewest_items = 16;

/// Queries of a pass, all of which see the same number of items.
struct Rows {
  Index first = 0;
  Index count = 0;
  std::int64_t items = 0;
};

/// Inputs of a pass and the observed rows of them.
struct Plan {
  TokenIds inputs;
  std::vector<Rows> rows;
};

TokenIds drawn_ids(const HeadEntropyOptions& options, std::int64_t length, std::int64_t vocabulary) {
  RandomWords words(options.seed);
  TokenIds inputs(static_cast<std::size_t>(options.inputs));
  for (std::vector<std::int64_t>& ids : inputs) {
    for (std::int64_t i = 0; i < length; ++i) {
      ids.push_back(static_cast<std::int64_t>(uniform_below(words, static_cast<std::uint64_t>(vocabulary))));
    }
  }
  return inputs;
}

// Queries of a pass on whole inputs: a causal input's last one, all of another.
Plan whole_inputs(const TokenIds& inputs, bool causal) {
  Plan plan{inputs, {}};
  Index first = 0;
  for (const std::vector<std::int64_t>& ids : inputs) {
    const auto length = static_cast<Index>(ids.size());
    plan.rows.push_back(causal ? Rows{first + length - 1, 1, length} : Rows{first, length, length});
    first += length;
  }
  return plan;
}

Plan plan_of(const TokenIds& inputs, std::int64_t largest, bool causal) {
  Plan plan;
  Index first = 0;
  const auto add = [&](const std::vector<std::int64_t>& ids, std::int64_t count) {
    plan.inputs.emplace_back(ids.begin(), ids.begin() + count);
    first += count;
  };
  for (const std::vector<std::int64_t>& ids : inputs) {
    const std::int64_t length = std::min(static_cast<std::int64_t>(ids.size()), largest);
    for (std::int64_t items = fewest_items; items <= length; items *= 2) {
      // A causal query's row does not depend on what follows it: one pass has all numbers of items.
      plan.rows.push_back(causal ? Rows{first + items - 1, 1, items} : Rows{first, items, items});
      if (!causal) add(ids, items);
    }
    if (causal) add(ids, length);
  }
  if (plan.rows.empty()) {
    throw std::invalid_argument(
        fmt::format("need an input of at least {0} ids and a model and --largest of at least {0} items", fewest_items));
  }
  return plan;
}

/// The spread that no input of a head exceeds, by (layer, head).
std::vector<double> certified_spreads(const models::Checkpoint& checkpoint, const models::ModelDescription& model,
                                      unsigned threads) {
  models::CheckpointJob job;
  for (const models::HeadDescription& head : model.head_list) job.heads.push_back(&head);
  job.threads = threads;
  std::vector<double> spreads;
  for (const auto& certificate : models::certify_heads(checkpoint, model, job)) {
    spreads.push_back(certificate.value().spread.upper);
  }
  return spreads;
}

double floor_of(std::uint64_t items, double spread) {
  return std::max(0.0, theory::entropy_floor(items, {spread, 0}).lower_double());
}

}  // namespace

std::vector<HeadEntropy> entropies_of_heads(const HeadEntropyOptions& options) {
  const auto say = [&](const std::string& text) {
    if (options.progress) options.progress(text);
  };
  const auto checkpoint = models::open_checkpoint(options.model);
  const models::ModelDescription model = models::describe(*checkpoint);
  const std::int64_t largest = options.largest == 0 ? model.context : std::min(options.largest, model.context);
  const models::Network network = models::describe_network(*checkpoint, model);
  const TokenIds ids = options.tokens.empty() ? drawn_ids(options, largest, network.embeddings.vocabulary)
                                              : models::read_token_ids(options.tokens);
  const bool causal = model.head_list.front().causal;
  const Plan plan = options.whole ? whole_inputs(ids, causal) : plan_of(ids, largest, causal);
  const models::ForwardPass pass(*checkpoint, model, plan.inputs, options.kernel, options.threads);
  say("certificates");
  const std::vector<double> spreads = certified_spreads(*checkpoint, model, options.threads);

  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, HeadEntropy> points;
  pass.run(model.layers - 1, [&](const models::LayerAttention& layer) {
    say(fmt::format("layer {} of {}", layer.layer + 1, model.layers));
    for (std::int64_t head = 0; head < model.heads; ++head) {
      for (const Rows& rows : plan.rows) {
        HeadEntropy& point = points[{layer.layer, head, rows.items}];
        const auto entropies = layer.entropy.col(head).segment(rows.first, rows.count);
        if (point.rows == 0) {
          const auto place = static_cast<std::size_t>(layer.layer * model.heads + head);
          const double spread = spreads[place];
          const std::uint64_t seen =
              std::min(static_cast<std::uint64_t>(rows.items), layer.window.value_or(UINT64_MAX));
          point = {.layer = layer.layer,
                   .head = head,
                   .items = rows.items,
                   .seen = static_cast<std::int64_t>(seen),
                   .has_window = layer.window.has_value(),
                   .least = entropies.minCoeff(),
                   .certified_floor = floor_of(seen, spread)};
        }
        point.rows += static_cast<std::size_t>(rows.count);
        point.sum += entropies.sum();
        point.least = std::min(point.least, entropies.minCoeff());
        point.largest = std::max(point.largest, entropies.maxCoeff());
        point.largest_coefficient = std::max(
            point.largest_coefficient, layer.largest_coefficient.col(head).segment(rows.first, rows.count).maxCoeff());
        const auto input = std::ranges::find_if(
            pass.inputs(), [&](const models::TokenRange& r) { return rows.first < r.first + r.count; });
        models::each_row(layer, model.head_list[static_cast<std::size_t>(layer.layer * model.heads + head)], *input,
                         rows.first - input->first, rows.count,
                         [&](const models::RowStatistics& row, std::span<const double>) {
                           point.spread_sum += row.spread();
                           point.first_token_sum += row.first_coefficient;
                         });
      }
    }
    return true;
  });
  std::vector<HeadEntropy> result;
  for (const auto& [place, point] : points) result.push_back(point);
  return result;
}

}  // namespace softcheck::experiments
