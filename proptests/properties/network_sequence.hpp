#pragma once

#include <utility>
#include <vector>

#include "proptests/generators/networks/network.hpp"
#include "theory/small_transformer.hpp"

namespace softcheck::proptests {

/// The network of a case, its temperature doubled until spread/theta <= 500 for the bound of Theorem 2.2: lengths then
/// stay within the range of double.
theory::SmallTransformer model_of(const SmallNetworkCase& network);

/// The case's tokens: up to five runs that follow from its seed, length tokens in all. GPT: at most 24 tokens behind
/// the first run.
std::vector<theory::Run> runs_of(const SmallNetworkCase& network);

/// The case with a second symbol where it has only one: what [a, b, ..., b] needs.
SmallNetworkCase with_two_symbols(SmallNetworkCase network);

/// Two different symbols, which follow from its seed; two or more in the vocabulary.
std::pair<int, int> two_symbols_of(const SmallNetworkCase& network);

}  // namespace softcheck::proptests
