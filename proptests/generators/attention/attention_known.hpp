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

/// How far scores may go where a kernel's contract makes them exact, and where it does not.
struct ScoreReach {
  double exact = 0;            // neither such a score nor the difference of two overflows
  double rounded = 0;          // relative errors of scores up to this one still let a threshold say something
  bool halves_exactly = true;  // is a score exact whose scale is a power of two below 1?
};

/// Calls whose scores reach the range of their accumulator, above 0 and below: beyond whatever a kernel writes in place
/// of a masked score, or begins a maximum with. Each score is one product of powers of two, hence exact where the scale
/// is one, too, so that the thresholds stay as narrow as those of small scores.
///
/// Masked keys, causal ones, keys beside a window where the domain has windows, and keys that are all visible; shapes
/// as near to these as the domain has them. Every query sees a key.
std::vector<AttentionCase> reaching_cases(const AttentionOptions& options, const ScoreReach& reach);

}  // namespace softcheck::proptests
