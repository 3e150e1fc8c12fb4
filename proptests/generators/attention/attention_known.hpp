#pragma once

#include <vector>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// A call of each known shape that lies in the domain, the smallest first; with windows, slopes and many sequences
/// where the domain has them. Seven queries and three key heads stand in turn, so that a judge has few rows to look at,
/// and no power of two is a multiple of their number.
///
/// most_heads   of all batches together; a head has at most eight times as many queries
std::vector<AttentionCase> known_cases(const AttentionOptions& options, std::size_t most_heads);

}  // namespace softcheck::proptests
