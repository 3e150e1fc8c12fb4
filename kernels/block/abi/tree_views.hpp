#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/block/tree_rows.hpp"
#include "kernels/call/version_2_views.hpp"

namespace softcheck::kernels {

/// loss   of a cross-entropy
struct TreeViews : call::CallViews {
  std::optional<call::LossViews> loss;

  LossAttributes loss_attributes() const {
    return {loss->label_smoothing, loss->label_smoothing / static_cast<double>(logits.columns), loss->z_loss,
            loss->ignore_index};
  }
};

/// The tensors of a call of Op, a type of namespace tree: of gradients the saved results are the logits. Nothing if the
/// call is to be refused.
template <class Op>
std::optional<TreeViews> tree_views(const softcheck_call* call) {
  if constexpr (Op::of_labels) {
    const std::optional<call::LossViews> loss = call::loss_views(call, static_cast<softcheck_op>(Op::number));
    if (!loss || loss->weights || loss->softcap != 0) return std::nullopt;
    return TreeViews{{loss->logits, loss->upstream, std::nullopt, {loss->output}, 1}, loss};
  } else if constexpr (Op::inputs == 2) {
    const std::optional<call::SavedViews> saved = call::saved_views(call, static_cast<softcheck_op>(Op::number));
    if (!saved) return std::nullopt;
    return TreeViews{{saved->saved, saved->gradient, std::nullopt, {saved->output}, 1}, std::nullopt};
  } else {
    const std::optional<call::CallViews> views =
        call::call_views(call, Op::of_rows ? call::Form::rows : call::Form::elements);
    return views ? std::optional(TreeViews{*views, std::nullopt}) : std::nullopt;
  }
}

}  // namespace softcheck::kernels
