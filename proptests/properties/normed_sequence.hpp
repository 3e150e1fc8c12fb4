#pragma once

#include <Eigen/Core>
#include <vector>

#include "proptests/generators/networks/normed_head.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {

/// A head behind a norm, and the vectors of one query and its items that enter the norm.
struct NormedSequence {
  theory::NormedHead head;
  Eigen::VectorXd query;  // (d)
  Eigen::MatrixXd items;  // (items, d)
};

/// The case as drawn, with the last item as the query. Since random items are far from any bound, also two opposite
/// long vectors along B^T (A z + a), with the query that has the largest product with them. Halves the scale until the
/// bound of the spread is at most 500, so that lengths stay within the range of double.
std::vector<NormedSequence> normed_sequences(const NormedHeadCase& head_case);

}  // namespace softcheck::proptests
