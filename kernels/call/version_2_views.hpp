#pragma once

#include <cstdint>
#include <optional>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/call/attention_views.hpp"
#include "kernels/call/call_views.hpp"
#include "kernels/call/elements.hpp"

// The tensors of calls of version 2.
namespace softcheck::kernels::call {

/// softmax_backward and log_softmax_backward: all (rows, n), of one format.
struct SavedViews {
  View saved;     // the output of the forward pass
  View gradient;  // of the loss by that
  View output;
};

/// Nothing if a kernel of this op is to refuse the call.
std::optional<SavedViews> saved_views(const softcheck_call* call, softcheck_op op);

/// cross_entropy, its mean over the rows, and the gradients of both.
struct LossViews {
  View logits;  // (rows, V)
  Labels labels;
  std::optional<View> upstream;  // (rows), of a gradient; of the mean's every row shows the same number
  std::optional<View> weights;   // (V), of the logits' format or the wide one: each class's
  View output;                   // (rows), of the mean (1), of a gradient (rows, V)
  double label_smoothing;        // in [0, 1]
  double z_loss;                 // finite
  double softcap;                // finite, >= 0; 0: none
  std::int64_t ignore_index;
  bool mean;           // of cross_entropy_mean and its gradient: the sum of the losses is divided
  double divisor = 1;  // of upstream
};

/// Nothing if a kernel of this op must refuse the call. With class weights, the z-loss of a mean is not defined.
std::optional<LossViews> loss_views(const softcheck_call* call, softcheck_op op);

/// topk_softmax.
struct TopkViews {
  View logits;   // (rows, n)
  View weights;  // (rows, k), of the logits' format or the wide one
  View ids;      // (rows, k), int32
  std::int64_t k;
  bool renormalize;
};

/// Nothing if a kernel of the op is to refuse the call.
std::optional<TopkViews> topk_views(const softcheck_call* call);

/// merge_states.
struct MergeViews {
  View4 outputs;    // (parts, rows, dim)
  View lse;         // (parts, rows), of the outputs' format or the wide one
  View merged;      // (rows, dim), of the outputs' format
  View merged_lse;  // (rows), as lse
  bool base_2;

  std::int64_t parts() const { return outputs.shape[0]; }
};

/// Nothing if a kernel of the op is to refuse the call.
std::optional<MergeViews> merge_views(const softcheck_call* call);

}  // namespace softcheck::kernels::call
