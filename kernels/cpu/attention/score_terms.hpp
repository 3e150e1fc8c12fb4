#pragma once

#include <cstdint>

#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// What comes behind the scaled scores of a block, in this order.
template <class T>
struct ScoreTerms {
  T softcap;                    // softcap tanh(score / softcap); 0: none
  const T* slopes;              // (rows): - slope |offset + i| at key i of the block; nullptr: none
  const std::int64_t* offsets;  // (rows): the block's first key less the key that the query stands at
  const T* bias;                // (rows - first, key_block); nullptr: none
};

/// Scales the scores, applies the terms, masks what tile says, and finds each row's largest, -inf where it sees
/// nothing. A scaled score of -inf is a masked one, of +inf it makes the row undefined, with a softcap, too.
void attribute_scores(const TileScores<float>& tile, const ScoreTerms<float>& terms, float scale, float* maximum);
void attribute_scores(const TileScores<double>& tile, const ScoreTerms<double>& terms, double scale, double* maximum);

}  // namespace softcheck::kernels::cpu
