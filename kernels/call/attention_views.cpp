#include "kernels/call/attention_views.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/call/call_views.hpp"

namespace softcheck::kernels::call {
std::optional<View4> view4_of(const DLTensor* tensor, int rank) {
  if (tensor == nullptr || tensor->ndim != rank || tensor->device.device_type != kDLCPU || tensor->shape == nullptr) {
    return std::nullopt;
  }
  const std::optional<Storage> storage = storage_of(tensor->dtype);
  if (!storage) {
    return std::nullopt;
  }
  View4 view;
  view.storage = *storage;
  const std::int64_t bytes = tensor->dtype.bits / 8;
  std::int64_t compact = bytes;
  bool empty = false;
  view.shape.fill(1);
  for (auto d = static_cast<std::size_t>(rank); d-- > 0;) {
    const std::int64_t extent = tensor->shape[d];
    const std::int64_t stride = tensor->strides != nullptr ? tensor->strides[d] * bytes : compact;
    if (extent < 0 || (extent > 1 && stride <= 0)) {
      return std::nullopt;
    }
    view.shape[d] = extent;
    // The stride of a dimension of one element is arbitrary; the element's size makes the row contiguous.
    view.strides[d] = extent > 1 ? stride : bytes;
    empty = empty || extent == 0;
    compact *= std::max<std::int64_t>(extent, 1);
  }
  if (tensor->data == nullptr) {
    return empty ? std::optional(view) : std::nullopt;
  }
  view.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  return view;
}

namespace {

bool shapes_fit(const AttentionViews& views) {
  const View4 &q = views.q, &k = views.k, &v = views.v, &out = views.out;
  if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0] || k.shape[1] != v.shape[1] || k.shape[2] != v.shape[2] ||
      k.shape[3] != q.shape[3]) {
    return false;
  }
  if (q.shape[1] != 0 && (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0)) {
    return false;
  }
  const std::optional<View4>& mask = views.mask;
  if (mask && (mask->shape[0] != q.shape[0] || (mask->shape[1] != 1 && mask->shape[1] != q.shape[1]) ||
               mask->shape[2] != q.shape[2] || mask->shape[3] != k.shape[2])) {
    return false;
  }
  return std::equal(q.shape.begin(), q.shape.begin() + 3, out.shape.begin()) && out.shape[3] == v.shape[3];
}

bool formats_fit(const AttentionViews& views) {
  const Storage in = views.q.storage;
  if (in == Storage::mask || views.k.storage != in || views.v.storage != in || views.out.storage != in) {
    return false;
  }
  return !views.mask || views.mask->storage == Storage::mask;
}

/// The format of a query's log-sum-exp.
Storage wide_format(const View4& q) { return q.storage == Storage::f64 ? Storage::f64 : Storage::f32; }

/// One number a query, in q's format or the wide one, or none.
bool rows_fit(const View4& q, const std::optional<View4>& rows) {
  return !rows || (std::equal(q.shape.begin(), q.shape.begin() + 3, rows->shape.begin()) &&
                   (rows->storage == q.storage || rows->storage == wide_format(q)));
}

/// In the format that it is multiplied in.
bool scale_fits(const AttentionViews& views) {
  return views.q.storage == Storage::f64 || std::isfinite(static_cast<float>(views.scale));
}

bool fits(const AttentionViews& views) {
  return scale_fits(views) && shapes_fit(views) && formats_fit(views) && rows_fit(views.q, views.lse) &&
         rows_fit(views.q, views.entropy) && rows_fit(views.q, views.maximum);
}

/// (all, heads, dim) as (1, heads, all, dim).
std::optional<View4> packed_view(const DLTensor* tensor) {
  const std::optional<View4> view = view4_of(tensor, 3);
  if (!view) {
    return std::nullopt;
  }
  const auto [all, heads, dim, one] = view->shape;
  const auto [by_place, by_head, by_dim, by_one] = view->strides;
  return View4{view->data, view->storage, {1, heads, all, dim}, {by_place, by_head, by_place, by_dim}};
}

/// (heads, all) as (1, heads, all).
std::optional<View4> packed_rows(const DLTensor* tensor) {
  const std::optional<View4> view = view4_of(tensor, 2);
  if (!view) {
    return std::nullopt;
  }
  return View4{view->data,
               view->storage,
               {1, view->shape[0], view->shape[1], 1},
               {view->strides[0], view->strides[0], view->strides[1], view->strides[1]}};
}

std::optional<View4> heads_view(const DLTensor* tensor, Layout layout) {
  return layout == Layout::packed ? packed_view(tensor) : view4_of(tensor, 4);
}
std::optional<View4> rows_view(const DLTensor* tensor, Layout layout) {
  return layout == Layout::packed ? packed_rows(tensor) : view4_of(tensor, 3);
}

/// Checks the parts that all calls have, with `own` inputs before the mask or the lengths; false: refuse the call.
bool call_fits(const softcheck_call* call, std::uint32_t own, std::uint32_t most_outputs, Layout layout) {
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->n_outputs < 1 ||
      call->n_outputs > most_outputs || call->theta != 1 || !std::isfinite(call->scale)) {
    return false;
  }
  return layout == Layout::packed ? call->n_inputs == own + 2 : call->n_inputs == own || call->n_inputs == own + 1;
}

/// q, k, v, the tensor with the shape of out, and the mask after `own` inputs.
std::optional<AttentionViews> common_views(const softcheck_call& call, const std::optional<View4>& v,
                                           const std::optional<View4>& out, std::uint32_t own, Layout layout) {
  const std::optional<View4> q = heads_view(call.inputs[0], layout);
  const std::optional<View4> k = heads_view(call.inputs[1], layout);
  if (!q || !k || !v || !out) {
    return std::nullopt;
  }
  AttentionViews views;
  views.q = *q;
  views.k = *k;
  views.v = *v;
  views.out = *out;
  views.scale = call.scale;
  views.causal = call.causal != 0;
  if (call.n_inputs == own + 1 && !(views.mask = view4_of(call.inputs[own], 4))) {
    return std::nullopt;
  }
  return views;
}

/// The same of no columns.
std::optional<View4> without_columns(std::optional<View4> view) {
  if (view) {
    view->shape[3] = 0;
  }
  return view;
}

/// Reads an output of one number for each query, if the call has it; false if it does not fit.
bool read_rows(const softcheck_call& call, std::uint32_t index, Layout layout, std::optional<View4>& rows) {
  return call.n_outputs <= index || (rows = rows_view(call.outputs[index], layout));
}

/// A view shaped and stored like another.
std::optional<View4> view_like(const DLTensor* tensor, const View4& other, Layout layout) {
  const std::optional<View4> view = heads_view(tensor, layout);
  return view && view->shape == other.shape && view->storage == other.storage ? view : std::nullopt;
}

}  // namespace

std::optional<AttentionViews> attention_views(const softcheck_call* call, Layout layout) {
  if (!call_fits(call, 3, 4, layout)) {
    return std::nullopt;
  }
  std::optional<AttentionViews> views =
      common_views(*call, heads_view(call->inputs[2], layout), heads_view(call->outputs[0], layout), 3, layout);
  if (!views || !read_rows(*call, 1, layout, views->lse) || !read_rows(*call, 2, layout, views->entropy) ||
      !read_rows(*call, 3, layout, views->maximum)) {
    return std::nullopt;
  }
  return fits(*views) ? views : std::nullopt;
}

namespace {

/// q, k, v, dL/dout[, mask] of a call of version 2, which has the results of the forward pass before dL/dout. A
/// gradient by the log-sum-exps may be the last input.
class SavedGradientCall {
 public:
  explicit SavedGradientCall(const softcheck_call& call) : plain_(call), out_(call.inputs[3]), lse_(call.inputs[4]) {
    plain_.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
    plain_.inputs = inputs_.data();
    const softcheck_call_2& whole = *softcheck_version_2(&call);
    const std::uint32_t last = call.n_inputs - 1;
    by_lse_ = whole.input_roles[last] == SOFTCHECK_ROLE_LSE_GRADIENT ? call.inputs[last] : nullptr;
    plain_.n_inputs = call.n_inputs - (by_lse_ == nullptr ? 2 : 3);
    for (std::uint32_t i = 0; i < plain_.n_inputs; ++i) {
      inputs_[i] = call.inputs[i < 3 ? i : i + 2];
    }
  }
  SavedGradientCall(const SavedGradientCall&) = delete;
  SavedGradientCall& operator=(const SavedGradientCall&) = delete;

  const softcheck_call* plain() const { return &plain_; }
  const DLTensor* out() const { return out_; }
  const DLTensor* lse() const { return lse_; }
  /// NULL without one.
  const DLTensor* by_lse() const { return by_lse_; }

  /// Do these kernels take the call? They have neither windows nor another alignment.
  static bool fits(const softcheck_call_2& whole) {
    static constexpr std::array<std::uint32_t, 7> roles{
        SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY,          SOFTCHECK_ROLE_VALUE, SOFTCHECK_ROLE_OUT,
        SOFTCHECK_ROLE_LSE,   SOFTCHECK_ROLE_OUT_GRADIENT, SOFTCHECK_ROLE_MASK};
    const std::uint32_t inputs = whole.call.n_inputs;
    const bool by_lse = inputs > 6 && whole.input_roles[inputs - 1] == SOFTCHECK_ROLE_LSE_GRADIENT;
    const std::uint32_t count = inputs - (by_lse ? 1 : 0);
    const softcheck_attributes& of = *whole.attributes;
    return whole.op == SOFTCHECK_OP_ATTENTION_BACKWARD && (count == 6 || count == 7) &&
           std::equal(whole.input_roles, whole.input_roles + count, roles.begin()) && of.window_left_plus_1 == 0 &&
           of.window_right_plus_1 == 0 && of.softcap == 0 && of.causal_top_left == 0;
  }

 private:
  softcheck_call plain_;
  const DLTensor *out_, *lse_, *by_lse_ = nullptr;
  std::array<const DLTensor*, 5> inputs_{};
};

/// Adds the results of the forward pass; false if they do not fit.
bool read_saved(const SavedGradientCall& call, AttentionGradientViews& views) {
  const View4& q = views.forward.q;
  const std::optional<View4> out = view_like(call.out(), views.forward.out, Layout::batched);
  const std::optional<View4> lse = view4_of(call.lse(), 3);
  if (!out || !lse || !rows_fit(q, lse)) {
    return false;
  }
  if (lse->storage == wide_format(q)) {
    views.saved_out = out;
    views.saved_lse = lse;
  }
  return true;
}

}  // namespace

std::optional<AttentionGradientViews> attention_gradient_views(const softcheck_call* call, Layout layout) {
  if (const softcheck_call_2* whole = call == nullptr ? nullptr : softcheck_version_2(call)) {
    if (layout != Layout::batched || !SavedGradientCall::fits(*whole)) {
      return std::nullopt;
    }
    const SavedGradientCall saved(*call);
    std::optional<AttentionGradientViews> views = attention_gradient_views(saved.plain(), layout);
    if (!views || !read_saved(saved, *views)) {
      return std::nullopt;
    }
    if (saved.by_lse() == nullptr) {
      return views;
    }
    views->by_lse = view4_of(saved.by_lse(), 3);
    return views->by_lse && rows_fit(views->forward.q, views->by_lse) ? views : std::nullopt;
  }
  if (!call_fits(call, 4, 3, layout)) {
    return std::nullopt;
  }
  const std::optional<AttentionViews> forward =
      common_views(*call, heads_view(call->inputs[2], layout), heads_view(call->inputs[3], layout), 4, layout);
  if (!forward || !fits(*forward)) {
    return std::nullopt;
  }
  const std::optional<View4> dq = view_like(call->outputs[0], forward->q, layout);
  if (!dq) {
    return std::nullopt;
  }
  AttentionGradientViews views{*forward, *dq, std::nullopt, std::nullopt};
  if ((call->n_outputs > 1 && !(views.dk = view_like(call->outputs[1], forward->k, layout))) ||
      (call->n_outputs > 2 && !(views.dv = view_like(call->outputs[2], forward->v, layout)))) {
    return std::nullopt;
  }
  return views;
}

std::optional<AttentionStatisticsViews> attention_statistics_views(const softcheck_call* call, Layout layout) {
  if (!call_fits(call, 2, 4, layout)) {
    return std::nullopt;
  }
  const std::optional<AttentionViews> forward =
      common_views(*call, without_columns(heads_view(call->inputs[1], layout)),
                   without_columns(heads_view(call->inputs[0], layout)), 2, layout);
  if (!forward) {
    return std::nullopt;
  }
  AttentionStatisticsViews views{*forward, {}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    std::optional<View4>& rows = views.statistics[i];
    if (!read_rows(*call, i, layout, rows) || !rows_fit(forward->q, rows)) {
      return std::nullopt;
    }
  }
  return fits(*forward) ? std::optional(views) : std::nullopt;
}

}  // namespace softcheck::kernels::call
