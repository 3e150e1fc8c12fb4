#pragma once

#include <optional>

#include "kernels/block/tree_rows.hpp"
#include "kernels/call/version_2_views.hpp"

namespace softcheck::kernels {

/// The tensors of a call of Op, a type of namespace tree: of gradients the saved results are the logits. Nothing if the
/// call is to be refused.
template <class Op>
std::optional<call::CallViews> tree_views(const softcheck_call* call) {
  if constexpr (Op::inputs == 2) {
    const std::optional<call::SavedViews> saved = call::saved_views(call, static_cast<softcheck_op>(Op::number));
    if (!saved) return std::nullopt;
    return call::CallViews{saved->saved, saved->gradient, std::nullopt, {saved->output}, 1};
  } else {
    return call::call_views(call, Op::of_rows ? call::Form::rows : call::Form::elements);
  }
}

}  // namespace softcheck::kernels
