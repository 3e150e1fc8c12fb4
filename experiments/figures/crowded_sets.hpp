#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/evaluation.hpp"

namespace softcheck::experiments {

/// softmax(beta(H) logits), H the entropy of softmax(logits): adaptive temperature with any beta.
Head head_of(std::string name, std::function<double(double entropy)> inverse_temperature);

/// A set with one item above a crowd: a sharp head would be right on it, and a soft one is wrong. The crowd's
/// priorities are uniform in [crowd_from, crowd_to), so close that the head gives them nearly equal weights.
inline constexpr float crowd_from = 0.80F, crowd_to = 0.84F, above_crowd = 0.85F;

/// The item above the crowd is the first. size >= 2.
RetrievalSets draw_crowded_sets(int size, int count, RandomWords& words);

/// The results of heads on one such set.
struct CrowdedMeasure {
  bool ranked = false;  // the item above the crowd has the largest logit
  double entropy = 0;   // of softmax
  struct OfHead {
    bool correct = false;
    double coefficient = 0;  // of the item above the crowd
  };
  std::vector<OfHead> heads;
};

/// count crowded sets of one size, the words from seed, stream and size.
std::vector<CrowdedMeasure> measure_crowded(const Floats& parameters, std::uint64_t stream, int size, int count,
                                            const std::vector<Head>& heads);

}  // namespace softcheck::experiments
