#pragma once

#include <cstdint>

#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// The terms applied to the scaled scores of a block, in this order.
template <class T>
struct ScoreTerms {
  T softcap;                    // softcap tanh(score / softcap); 0: none
  const T* slopes;              // (rows): - slope |offset + i| at key i of the block; nullptr: none
  const std::int64_t* offsets;  // (rows): the block's first key less the query's position
  const T* bias;                // (rows - first, key_block); nullptr: none
};

/// Scales the scores, applies the terms, masks by tile, and finds each row's largest score; -inf if it sees no key. A
/// scaled score of -inf counts as masked; one of +inf makes the row undefined, even with a softcap.
void attribute_scores(const TileScores<float>& tile, const ScoreTerms<float>& terms, float scale, float* maximum);
void attribute_scores(const TileScores<double>& tile, const ScoreTerms<double>& terms, double scale, double* maximum);

}  // namespace softcheck::kernels::cpu
