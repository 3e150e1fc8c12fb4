#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "experiments/attention_kernels.hpp"
#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// The attention of one head of one network, on one set.
struct HeadMeasure {
  bool correct = false;  // the class with the largest score is that of the item with the largest priority
  float entropy = 0;     // of the coefficients, in nats
  float largest = 0;     // coefficient
};

/// A way to turn a set's logits into coefficients, in place of softmax at temperature 1.
struct Head {
  std::string name;
  /// logits         (n), without b_K . q', which is offset: it is the same for all items and does not change softmax
  /// coefficients   (n), written
  std::function<void(std::span<const float> logits, float offset, std::span<float> coefficients)> coefficients;
};

/// What the heads did with the same sets of one size.
struct SizeMeasure {
  int size = 0;
  std::vector<float> spreads;                   // largest minus smallest logit, a set each
  std::vector<std::vector<HeadMeasure>> heads;  // softmax, adaptive temperature, then the others; a set each
};

struct EvaluationOptions {
  std::uint64_t seed = 1;  // of the sets
  std::vector<int> sizes{16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
  int sets = 8192;               // at most, of each size
  std::int64_t items = 1 << 20;  // at most, of each size: fewer sets of the largest
  unsigned threads = 1;
  std::vector<Head> others;  // heads besides softmax and adaptive temperature
};

/// How many sets of this size: options.sets, or as many as options.items allow, at least one.
int sets_of_size(const EvaluationOptions& options, int size);

/// Every head on random sets of every size, softmax and adaptive temperature by the kernels. Memory O(largest size) a
/// thread. The same options give the same measures for any number of threads.
///
/// parameters   of the network (parameter_count); networks of other seeds get other sets through stream
/// progress     called now and then with the finished share; false stops, and the result is then incomplete
/// throws       std::invalid_argument for sizes or counts below 1
std::vector<SizeMeasure> evaluate(const Floats& parameters, std::uint64_t stream, const AttentionKernels& kernels,
                                  const EvaluationOptions& options, const std::function<bool(double)>& progress = {});

/// The network up to its attention: encoded items (count, width), and the folded query (width) with its offset.
void encode(const Floats& parameters, std::span<const float> items, std::span<float> encoded);

struct FoldedQueries {
  Floats vectors;              // (count, width)
  std::vector<float> offsets;  // (count), b_K . q'
};
FoldedQueries fold(const Floats& parameters, std::span<const float> queries);

/// evaluate() without this project's kernels: a measure has only options.others.
std::vector<SizeMeasure> evaluate_heads(const Floats& parameters, std::uint64_t stream,
                                        const EvaluationOptions& options,
                                        const std::function<bool(double)>& progress = {});

}  // namespace softcheck::experiments
