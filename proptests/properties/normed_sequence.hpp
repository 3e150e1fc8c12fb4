#pragma once

#include <Eigen/Core>
#include <vector>

#include "proptests/generators/networks/normed_head.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {

/// A head behind a norm and the vectors that the norm sees of one query and its items.
struct NormedSequence {
  theory::NormedHead head;
  Eigen::VectorXd query;  // (d)
  Eigen::MatrixXd items;  // (items, d)
};

/// The case as drawn, the last item asking; and, since random items are far from any bound, two opposite long vectors
/// along B^T (A z + a) with the query that sees them most. The scale is halved until the bound of the spread is at most
/// 500: lengths then stay within the range of double.
std::vector<NormedSequence> normed_sequences(const NormedHeadCase& head_case);

}  // namespace softcheck::proptests
