#include "theory/remark_c_1.hpp"

#include <rapidcheck.h>

#include <algorithm>

#include "proptests/mutants/planted.hpp"
#include "proptests/properties/network_sequence.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;

// The difference of one coefficient, (e^d - e^-d)/n, instead of the sum over all items.
Enclosure of_one_item(const Enclosure& d, const Enclosure& shorter, const Enclosure& longer) {
  return theory::scaled_row_disagreement(d, shorter, longer) / longer;
}

// k (e^d - e^-d): the statement for BERT, applied to prefixes of different lengths.
Enclosure blind_to_lengths(const Enclosure& d, const Enclosure&, const Enclosure& longer) {
  return longer * (exp(d) - exp(-d));
}

template <class Certify>
auto on_sequence(Certify certify, int min_depth = 1) {
  return [=](SmallNetworkCase network) -> Certificates {
    network.depth = std::max(network.depth, min_depth);
    const auto model = model_of(network);
    theory::TraceLadder trace(model, runs_of(network));
    return certify(trace);
  };
}

// Treats a long sequence as fully dispersed: computes the later layer's spread from the actual softmax.
Certificates later_spread_of_softmax(theory::TraceLadder& trace) {
  return {numerics::certify("remark_c_1.later_spread", trace.witness(), numerics::Relation::equal, [&] {
    const auto& head = trace.head_now(1, 0);
    Enclosure spread;
    for (const auto& query : head.queries) {
      for (const auto& key : head.keys) {
        spread = maximum(spread, abs(theory::dot(query, theory::subtract(key, head.keys.front()))));
      }
    }
    return numerics::Sides{spread, Enclosure(0)};
  })};
}

}  // namespace

std::vector<PlantedVersion> remark_c_1_planted() {
  using theory::TraceLadder;
  const auto outputs = [](theory::RowBound bound) {
    return on_sequence([bound](TraceLadder& trace) { return certify_row_outputs(trace, bound); });
  };
  return {
      {"bounds one coefficient, not their sum", rows_differ_by_dispersion(outputs(of_one_item))},
      {"is blind to the lengths of prefixes", rows_differ_by_dispersion(outputs(blind_to_lengths))},
      {"bounds one coefficient, not their sum", residuals_keep_the_spread(on_sequence([](TraceLadder& trace) {
         return certify_residual_outputs(trace, of_one_item);
       }))},
      {"bounds one coefficient, not their sum",
       next_spread_is_bounded(
           on_sequence([](TraceLadder& trace) { return certify_next_spread(trace, of_one_item); }, 2))},
      {"takes the means of prefixes for equal", dispersed_layer_averages(on_sequence([](TraceLadder& trace) {
         return certify_fully_dispersed(trace, blind_to_lengths);
       }))},
      {"takes a long sequence for a dispersed one", no_later_spread(on_sequence(later_spread_of_softmax, 2))},
  };
}

}  // namespace softcheck::proptests
