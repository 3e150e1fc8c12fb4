#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "experiments/language/language_lane.hpp"
#include "experiments/language/language_model.hpp"
#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::experiments {

/// The kernels of this project that a language model uses.
struct LanguageKernels {
  /// throws   std::runtime_error naming the library, or the kernel it lacks
  explicit LanguageKernels(const std::filesystem::path& library);

  softcheck_kernel attention[2];       // over packed texts; plain, adaptive
  softcheck_kernel attention_back[2];  // its gradient
  softcheck_kernel cross_entropy, cross_entropy_back;
};

/// A layer's attention as the kernel computed it.
struct LayerSeen {
  int layer = 0;
  const float* projected = nullptr;  // (tokens, 3 width): turned queries, keys, values of all heads
  const float* log_sum = nullptr;    // (heads, tokens), of the weights that multiply the values: softmax of beta e
  const float* entropy = nullptr;    // (heads, tokens), in nats, of them
  const float* largest = nullptr;    // (heads, tokens): the largest score of each query, without beta
};

/// Attention and cross-entropy of a model over the texts of a batch, by the kernels. Weights that have no kernel are
/// computed by the lane, and in double by the same code for any machine. Real is float or double.
template <class Real>
class LanguageParts {
 public:
  /// kernels, design, batch   must outlive this object
  /// throws                   std::invalid_argument as check_design() does
  LanguageParts(const LanguageKernels& kernels, const LanguageDesign& design, const TokenBatch& batch);

  /// throws   std::runtime_error if a kernel refuses, here and below
  void attend(int layer, const Real* projected, int tokens, Real* attended);
  void attend_back(int layer, const Real* projected, const Real* d_attended, int tokens, Real* d_projected);
  /// The mean over the targets, and its gradient where that is not null.
  Real cross_entropy(const Real* logits, int targets, const int* labels, Real* d_logits);
  /// Of each target, from the last call of cross_entropy().
  const std::vector<Real>& losses() const { return losses_; }

  /// Called after each layer's attention in float, if a kernel computed it.
  std::function<void(const LayerSeen&)> seen = {};

  /// Of float, as a lane calls it.
  softcheck_language_parts calls();

 private:
  // The kernel's inputs: with plain softmax a layer's projections, else changed copies of them.
  template <class Value>
  struct Projections {
    Value *queries, *keys, *values;
    std::int64_t query_stride, key_stride;
  };
  std::int64_t keys() const;
  Projections<const Real> projections(const Real* projected);
  // Memory for the gradients by the result of projections().
  Projections<Real> gradients(Real* d_projected);
  // Turns these gradients into those by the layer's projections.
  void take_back(const Real* projected, Real* d_projected);
  // The kernel and its gradient.
  void run(const Projections<const Real>& of, Real* attended);
  void run_back(const Projections<const Real>& of, const Real* d_attended, const Projections<Real>& to);
  // line: the queries times their temperatures, and the backward pass through both.
  void warm_queries(const Projections<const Real>& of);
  void cool_queries(const Real* projected, Real* d_projected);
  // visit(token, its key in the array with the sinks)
  template <class Visit>
  void for_each_key(Visit visit) const;

  const LanguageKernels& kernels_;
  const LanguageDesign& design_;
  const TokenBatch& batch_;
  std::vector<Real> log_sum_, entropy_, largest_, losses_, shares_;
  std::vector<Real> scales_, queries_;    // log_n: (tokens), (tokens, width); line: only the second
  std::vector<Real> betas_;               // of line: (heads, tokens)
  std::vector<Real> upstream_, moved_;    // of line: (tokens, width), (tokens, 3 width)
  std::vector<Real> keys_, values_;       // of sink: (keys, width)
  std::vector<Real> d_keys_, d_values_;   // likewise
  std::vector<std::int64_t> key_begins_;  // as TokenBatch::begins
};
extern template class LanguageParts<float>;
extern template class LanguageParts<double>;

/// A batch in a lane's form. The batch and the turns must outlive it.
softcheck_language_batch lane_batch(const TokenBatch& batch, const TurnTable<float>& turns);

}  // namespace softcheck::experiments
