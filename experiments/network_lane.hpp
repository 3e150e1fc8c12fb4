#pragma once

/// Stages of the max-retrieval network, compiled once for each instruction set. All floats come from addresses that are
/// multiples of 64: the bits depend on nothing else. Layouts as in max_retrieval_layout.hpp and SetsView.
struct softcheck_network_lane {
  const char* name;  // of the instructions: "avx512", "avx2" or "baseline"
  /// Mean cross-entropy of count sets of size items, and its gradient where that is not null; head is a HeadKind.
  float (*loss_and_gradient)(const float* parameters, int size, int count, const float* items, const float* queries,
                             const int* targets, int head, float* gradient);
  /// items (count, item_features) to encoded items (count, width).
  void (*encode_items)(const float* parameters, int count, const float* items, float* encoded);
  /// queries (count) to folded queries (count, width) and offsets b_K . q' (count): an item's logit is the product of
  /// the folded query with the encoded item, plus the offset.
  void (*fold_queries)(const float* parameters, int count, const float* queries, float* folded, float* offsets);
  /// Weighted sums of encoded items (count, width) to the scores of the classes (count, class_count).
  void (*score_classes)(const float* parameters, int count, const float* pooled, float* scores);
};

extern "C" {
extern const softcheck_network_lane softcheck_network_baseline;
extern const softcheck_network_lane softcheck_network_avx2;
extern const softcheck_network_lane softcheck_network_avx512;
}

namespace softcheck::experiments {

/// The widest that this machine has.
const softcheck_network_lane& network_lane();

}  // namespace softcheck::experiments
