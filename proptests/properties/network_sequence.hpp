#pragma once

#include <utility>
#include <vector>

#include "proptests/generators/networks/network.hpp"
#include "theory/small_transformer.hpp"

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

}  // namespace softcheck::proptests
