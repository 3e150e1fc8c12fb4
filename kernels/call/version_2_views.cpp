#include "kernels/call/version_2_views.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace softcheck::kernels::call {
namespace {

// The call as version 2, if it is of this op with inputs in these roles and this number of outputs; else NULL.
const softcheck_call_2* call_of(const softcheck_call* call, softcheck_op op,
                                std::initializer_list<softcheck_role> roles, std::uint32_t outputs = 1) {
  const softcheck_call_2* whole = call == nullptr ? nullptr : softcheck_version_2(call);
  if (whole == nullptr || whole->op != static_cast<std::uint32_t>(op) || call->n_inputs != roles.size() ||
      call->n_outputs != outputs || call->theta != 1 || call->scale != 1 || call->causal != 0) {
    return nullptr;
  }
  const std::uint32_t* role = whole->input_roles;
  for (const softcheck_role wanted : roles) {
    if (*role++ != static_cast<std::uint32_t>(wanted)) {
      return nullptr;
    }
  }
  return whole;
}

bool is_like(const View& a, const View& b) {
  return a.storage == b.storage && a.rows == b.rows && a.columns == b.columns;
}

// Have the values the logits' format or the wide one?
bool is_wide_or(const View& logits, const View& values) {
  const Storage wide = logits.storage == Storage::f64 ? Storage::f64 : Storage::f32;
  return values.storage == logits.storage || values.storage == wide;
}

bool is_of_rows(const View& logits, const View& values) {
  return values.rows == logits.rows && is_wide_or(logits, values);
}

// An attribute that these kernels do not know must be off.
bool are_known(const softcheck_attributes& attributes, bool reduced) {
  return attributes.size >= sizeof(softcheck_attributes) && attributes.softcap >= 0 &&
         std::isfinite(attributes.softcap) && (attributes.mean == 0 || (reduced && attributes.mean == 1)) &&
         attributes.label_smoothing >= 0 && attributes.label_smoothing <= 1 && std::isfinite(attributes.z_loss);
}

// A number for all rows, as one for each.
View for_each_row(View one, std::int64_t rows) {
  one.rows = rows;
  one.row_stride = 0;
  return one;
}

}  // namespace

std::optional<SavedViews> saved_views(const softcheck_call* call, softcheck_op op) {
  if (call_of(call, op, {SOFTCHECK_ROLE_SAVED, SOFTCHECK_ROLE_OUT_GRADIENT}) == nullptr) {
    return std::nullopt;
  }
  const std::optional<View> saved = view_of(call->inputs[0], 2);
  const std::optional<View> gradient = view_of(call->inputs[1], 2);
  const std::optional<View> output = view_of(call->outputs[0], 2);
  if (!saved || saved->storage == Storage::mask || !gradient || !is_like(*saved, *gradient) || !output ||
      !is_like(*saved, *output)) {
    return std::nullopt;
  }
  return SavedViews{*saved, *gradient, *output};
}

std::optional<LossViews> loss_views(const softcheck_call* call, softcheck_op op) {
  const bool reduced = op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  const bool backward = op == SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD || op == SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD;
  const auto with_or_without_weights = [&](auto... roles) {
    const softcheck_call_2* without = call_of(call, op, {roles...});
    return without != nullptr ? without : call_of(call, op, {roles..., SOFTCHECK_ROLE_CLASS_WEIGHTS});
  };
  const std::uint32_t others = backward ? 3 : 2;
  const softcheck_call_2* whole =
      backward ? with_or_without_weights(SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS, SOFTCHECK_ROLE_UPSTREAM)
               : with_or_without_weights(SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS);
  if (whole == nullptr || !are_known(*whole->attributes, reduced)) {
    return std::nullopt;
  }
  const std::optional<View> logits = view_of(call->inputs[0], 2);
  const std::optional<Labels> labels = labels_of(call->inputs[1]);
  const std::optional<View> output = view_of(call->outputs[0], backward ? 2 : 1);
  if (!logits || logits->storage == Storage::mask || !labels || labels->rows() != logits->rows || !output) {
    return std::nullopt;
  }
  const auto is_number_or_of_rows = [&](const View& view) {
    return reduced ? view.rows == 1 && is_wide_or(*logits, view) : is_of_rows(*logits, view);
  };
  if (!(backward ? is_like(*logits, *output) : is_number_or_of_rows(*output))) {
    return std::nullopt;
  }
  std::optional<View> upstream = backward ? view_of(call->inputs[2], 1) : std::nullopt;
  if (backward && (!upstream || !is_number_or_of_rows(*upstream))) {
    return std::nullopt;
  }
  if (backward && reduced) {
    upstream = for_each_row(*upstream, logits->rows);
  }
  const bool weighted = call->n_inputs > others;
  const std::optional<View> weights = weighted ? view_of(call->inputs[others], 1) : std::nullopt;
  if (weighted && (!weights || weights->rows != logits->columns || !is_wide_or(*logits, *weights))) {
    return std::nullopt;
  }
  const softcheck_attributes& attributes = *whole->attributes;
  if (reduced && weighted && attributes.z_loss != 0) {
    return std::nullopt;
  }
  return LossViews{*logits,
                   *labels,
                   upstream,
                   weights,
                   *output,
                   attributes.label_smoothing,
                   attributes.z_loss,
                   attributes.softcap,
                   attributes.ignore_index,
                   attributes.mean != 0};
}

std::optional<TopkViews> topk_views(const softcheck_call* call) {
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_TOPK_SOFTMAX, {SOFTCHECK_ROLE_LOGITS}, 2);
  if (whole == nullptr || whole->attributes->size < sizeof(softcheck_attributes)) {
    return std::nullopt;
  }
  const softcheck_attributes& attributes = *whole->attributes;
  if (attributes.sigmoid != 0 || attributes.groups != 0 || attributes.routed_scale != 0) return std::nullopt;
  const std::int64_t k = attributes.k;
  const std::optional<View> logits = view_of(call->inputs[0], 2);
  const std::optional<View> weights = view_of(call->outputs[0], 2);
  const std::optional<View> ids = ids_of(call->outputs[1]);
  const auto has_k = [&](const View& view) { return view.rows == logits->rows && view.columns == k; };
  if (!logits || logits->storage == Storage::mask || k < 0 || k > logits->columns ||
      logits->columns > std::numeric_limits<std::int32_t>::max() || !weights || !is_wide_or(*logits, *weights) ||
      !has_k(*weights) || !ids || !has_k(*ids)) {
    return std::nullopt;
  }
  return TopkViews{*logits, *weights, *ids, k, attributes.renormalize != 0};
}

std::optional<MergeViews> merge_views(const softcheck_call* call) {
  const softcheck_call_2* whole = call_of(call, SOFTCHECK_OP_MERGE_STATES, {SOFTCHECK_ROLE_OUT, SOFTCHECK_ROLE_LSE}, 2);
  if (whole == nullptr || whole->attributes->size < sizeof(softcheck_attributes)) {
    return std::nullopt;
  }
  const std::optional<View4> outputs = view4_of(call->inputs[0], 3);
  const std::optional<View> lse = view_of(call->inputs[1], 2);
  const std::optional<View> merged = view_of(call->outputs[0], 2);
  const std::optional<View> merged_lse = view_of(call->outputs[1], 1);
  if (!outputs || outputs->storage == Storage::mask || !lse || !merged || !merged_lse) {
    return std::nullopt;
  }
  const auto [parts, rows, dim, one] = outputs->shape;
  if (lse->rows != parts || lse->columns != rows || merged->rows != rows || merged->columns != dim ||
      merged->storage != outputs->storage || merged_lse->rows != rows || !is_wide_or(*merged, *lse) ||
      !is_wide_or(*merged, *merged_lse)) {
    return std::nullopt;
  }
  return MergeViews{*outputs, *lse, *merged, *merged_lse, whole->attributes->lse_base2 != 0};
}

}  // namespace softcheck::kernels::call
