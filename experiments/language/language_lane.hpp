#pragma once

#include <cstdint>

#include "experiments/language/language_layout.hpp"

/// The functions that the language model's caller provides. projected (3 width, tokens), a token contiguous, has turned
/// queries, keys and values of all heads; the others likewise (width, tokens). logits (targets, character_count).
struct softcheck_language_parts {
  void* context;
  void (*attend)(void* context, int layer, const float* projected, int tokens, float* attended);
  void (*attend_back)(void* context, int layer, const float* projected, const float* d_attended, int tokens,
                      float* d_projected);
  float (*cross_entropy)(void* context, const float* logits, int targets, const int* labels, float* d_logits);
};

/// The members of TokensView and TurnsView in language_pass.inl.
struct softcheck_language_batch {
  int tokens;
  const int* ids;
  const int* positions;
  int targets;
  const int* places;
  const int* labels;
  const float* cosines;
  const float* sines;
};

/// The language model, compiled once for each instruction set. All floats come from addresses that are multiples of 64:
/// the bits depend on nothing else.
struct softcheck_language_lane {
  const char* name;  // as in softcheck_network_lane
  /// Mean cross-entropy of the targets, and its gradient where that is not null.
  float (*loss_and_gradient)(const softcheck::experiments::LanguageShape& shape, const float* parameters,
                             const softcheck_language_batch& batch, const softcheck_language_parts& parts,
                             float* gradient);
  /// logits (targets, character_count).
  void (*forward)(const softcheck::experiments::LanguageShape& shape, const float* parameters,
                  const softcheck_language_batch& batch, const softcheck_language_parts& parts, float* logits);
  /// Attention that no kernel computes, on texts in the form of PackedTexts in root_attention.inl, and its gradient.
  void (*attend)(const softcheck::experiments::LanguageShape& shape, const std::int64_t* begins, int texts,
                 const float* projected, float* attended);
  void (*attend_back)(const softcheck::experiments::LanguageShape& shape, const std::int64_t* begins, int texts,
                      const float* projected, const float* d_attended, float* d_projected);
};

extern "C" {
extern const softcheck_language_lane softcheck_language_baseline;
extern const softcheck_language_lane softcheck_language_avx2;
extern const softcheck_language_lane softcheck_language_avx512;
}

namespace softcheck::experiments {

/// The widest that this machine has.
const softcheck_language_lane& language_lane();

}  // namespace softcheck::experiments
