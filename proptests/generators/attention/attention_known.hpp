#pragma once

#include <vector>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// A call of each known shape in the domain, smallest first; with windows, slopes and many sequences if the domain
/// allows them. Repeats seven queries and three key heads, so that a judge has few rows to judge, and no power of two
/// is a multiple of the period.
///
/// most_heads   over all batches; a head has at most eight times as many queries
std::vector<AttentionCase> known_cases(const AttentionOptions& options, std::size_t most_heads);

/// A call with each attribute that the domain names, with more keys than a block has; where it has windows, with more
/// queries than one. If its calls have sequences, one with more than 1,024 short ones.
///
/// few   only the shorter calls
std::vector<AttentionCase> long_cases(const AttentionOptions& options, bool few);

/// The largest scores for which a contract still promises something.
struct ScoreReach {
  double exact = 0;            // neither such a score nor the difference of two overflows; for scores that are exact
  double rounded = 0;          // relative errors of such scores keep thresholds meaningful
  double product = 0;          // a product of query and key, or a few of them, does not overflow before it is scaled
  bool halves_exactly = true;  // a scale that is a power of two below 1 keeps scores exact
};

/// Calls whose scores reach the accumulator's range on both sides of 0: beyond any number that a kernel may write for a
/// masked score, or start its maximum with. Each score is one product of powers of two, so it is exact if the scale is
/// a power of two, and thresholds stay as narrow as those of small scores.
///
/// With masked keys, causal keys, keys outside a window if the domain has windows, and all keys visible, in shapes as
/// near to these as the domain allows. Every query sees a key.
std::vector<AttentionCase> reaching_cases(const AttentionOptions& options, const ScoreReach& reach);

}  // namespace softcheck::proptests
