#pragma once

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "proptests/generators/networks/network.hpp"
#include "proptests/generators/networks/normed_head.hpp"
#include "theory/small_transformer.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {

/// The network of a case, with its temperature doubled until Theorem 2.2's bound gives spread/theta <= 500: lengths
/// then stay within the range of double.
theory::SmallTransformer model_of(const SmallNetworkCase& network);

/// The case's tokens: up to five runs derived from its seed, `length` tokens in all. GPT: at most 24 tokens after the
/// first run.
std::vector<theory::Run> runs_of(const SmallNetworkCase& network);

/// The case with at least two symbols, as [a, b, ..., b] needs.
SmallNetworkCase with_two_symbols(SmallNetworkCase network);

/// Two different symbols derived from the seed; the vocabulary must have at least two.
std::pair<int, int> two_symbols_of(const SmallNetworkCase& network);

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
