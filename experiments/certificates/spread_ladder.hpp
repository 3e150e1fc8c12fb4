#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/certificates/logit_bounds.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/matrices/singular_value.hpp"

namespace softcheck::experiments {

/// The rungs, smallest to largest: the spread of the logits of one network, and its bounds. Each is an enclosure of a
/// real number that is defined for this network and all items and queries of its domain.
struct SpreadLadder {
  numerics::Enclosure observed;   // largest spread of a sample of queries, each over all items of the sample
  SpreadBound exact;              // the supremum over all queries and items, its witness
  numerics::Enclosure direct;     // Proposition 3.1 with ||K^T (Q y + b_Q)||, each norm's own supremum
  numerics::Enclosure joint;      // with sigma(K^T Q) ||y|| + ||K^T b_Q||
  numerics::Enclosure joint_gap;  // joint - direct, the factor that they share taken out: they can be all but equal
  numerics::Enclosure product;    // with (sigma(Q) ||y|| + ||b_Q||) sigma(K) and twice the largest item
  std::string sample;             // a description of the sample
};

/// numerics::largest_singular_value; a test hands in a wrong one.
using SigmaEnclosure = std::function<numerics::SingularValueEnclosure(const Eigen::MatrixXd&)>;
SigmaEnclosure certified_sigma_enclosure();

/// throws   std::range_error when the network leaves the range of double
SpreadLadder spread_ladder(const NetworkCells& network, std::uint64_t seed,
                           const SigmaEnclosure& sigma = certified_sigma_enclosure());

/// model.spread.observed   the sample's spread does not exceed the certified upper end
/// model.spread.exact      that end and the witness's spread are within 0.1 % of each other
/// model.spread.direct, .joint, .product   each rung is at most the next; the slack is how much of it is used
std::vector<numerics::Certificate> certify_ladder(const SpreadLadder& ladder);

/// "query 0x1p+0, items (0x1p+0, class 3) and (0x0p+0, class 5)"
std::string witness_of(const SpreadBound& bound);

}  // namespace softcheck::experiments
