// The language model, compiled once for each instruction set, for the reason in experiments/network_lane.cpp.
#define Eigen SOFTCHECK_LANE_EIGEN
#include "experiments/language/language_lane.hpp"

#include "experiments/language/language_pass.inl"
#include "experiments/language/root_attention.inl"

namespace softcheck::experiments {
namespace {

LanguageRoom<float>& language_room() {
  thread_local LanguageRoom<float> own;
  return own;
}

struct CallerParts {
  const softcheck_language_parts& calls;

  void attend(int layer, const float* projected, int tokens, float* attended) const {
    calls.attend(calls.context, layer, projected, tokens, attended);
  }
  void attend_back(int layer, const float* projected, const float* d_attended, int tokens, float* d_projected) const {
    calls.attend_back(calls.context, layer, projected, d_attended, tokens, d_projected);
  }
  float cross_entropy(const float* logits, int targets, const int* labels, float* d_logits) const {
    return calls.cross_entropy(calls.context, logits, targets, labels, d_logits);
  }
};

TokensView tokens_of(const softcheck_language_batch& batch) {
  return {batch.tokens, batch.ids, batch.positions, batch.targets, batch.places, batch.labels};
}

float loss(const LanguageShape& shape, const float* parameters, const softcheck_language_batch& batch,
           const softcheck_language_parts& parts, float* gradient) {
  CallerParts calls{parts};
  return language_loss<float>(shape, parameters, tokens_of(batch), {batch.cosines, batch.sines}, calls, language_room(),
                              gradient);
}

void forward(const LanguageShape& shape, const float* parameters, const softcheck_language_batch& batch,
             const softcheck_language_parts& parts, float* logits) {
  CallerParts calls{parts};
  run_forward<float>(shape, parameters, tokens_of(batch), {batch.cosines, batch.sines}, calls, language_room());
  Eigen::Map<TokenMatrix<float>>(logits, character_count, batch.targets) = language_room().logits;
}

void attend(const LanguageShape& shape, const std::int64_t* begins, int texts, const float* projected,
            float* attended) {
  root_attend<float>({shape, begins, texts}, projected, attended);
}

void attend_back(const LanguageShape& shape, const std::int64_t* begins, int texts, const float* projected,
                 const float* d_attended, float* d_projected) {
  root_attend_back<float>({shape, begins, texts}, projected, d_attended, d_projected);
}

}  // namespace
}  // namespace softcheck::experiments

extern "C" {
extern const softcheck_language_lane SOFTCHECK_LANE;
const softcheck_language_lane SOFTCHECK_LANE{SOFTCHECK_LANE_NAME, softcheck::experiments::loss,
                                             softcheck::experiments::forward, softcheck::experiments::attend,
                                             softcheck::experiments::attend_back};
}
