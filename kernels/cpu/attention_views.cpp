#include "kernels/cpu/attention_views.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cpu/call_views.hpp"

namespace softcheck::kernels {
namespace {

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
    // A lone element has no stride of its own; its size lets a row of one be read as contiguous.
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

bool shapes_fit(const AttentionViews& views) {
  const auto& [q, k, v, mask, out, lse, entropy, scale, causal] = views;
  if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0] || k.shape[1] != v.shape[1] || k.shape[2] != v.shape[2] ||
      k.shape[3] != q.shape[3]) {
    return false;
  }
  if (q.shape[1] != 0 && (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0)) {
    return false;
  }
  for (const std::optional<View4>& rows : {lse, entropy}) {
    if (rows && !std::equal(q.shape.begin(), q.shape.begin() + 3, rows->shape.begin())) {
      return false;
    }
  }
  if (mask && (mask->shape[0] != q.shape[0] || (mask->shape[1] != 1 && mask->shape[1] != q.shape[1]) ||
               mask->shape[2] != q.shape[2] || mask->shape[3] != k.shape[2])) {
    return false;
  }
  return std::equal(q.shape.begin(), q.shape.begin() + 3, out.shape.begin()) && out.shape[3] == v.shape[3];
}

bool formats_fit(const AttentionViews& views) {
  const Storage in = views.q.storage;
  const Storage wide = in == Storage::f64 ? Storage::f64 : Storage::f32;
  if (in == Storage::mask || views.k.storage != in || views.v.storage != in || views.out.storage != in) {
    return false;
  }
  for (const std::optional<View4>& rows : {views.lse, views.entropy}) {
    if (rows && rows->storage != in && rows->storage != wide) {
      return false;
    }
  }
  return !views.mask || views.mask->storage == Storage::mask;
}

/// What both directions have in common, with own inputs before the mask; nothing where it is to be refused.
bool call_fits(const softcheck_call* call, std::uint32_t own) {
  return call != nullptr && call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION && call->n_inputs >= own &&
         call->n_inputs <= own + 1 && call->n_outputs >= 1 && call->n_outputs <= 3 && call->theta == 1 &&
         std::isfinite(call->scale);
}

/// q, k, v, the mask and what has the shape of out.
std::optional<AttentionViews> common_views(const softcheck_call& call, const DLTensor* like_out, std::uint32_t own) {
  const std::optional<View4> q = view4_of(call.inputs[0], 4);
  const std::optional<View4> k = view4_of(call.inputs[1], 4);
  const std::optional<View4> v = view4_of(call.inputs[2], 4);
  const std::optional<View4> out = view4_of(like_out, 4);
  if (!q || !k || !v || !out) {
    return std::nullopt;
  }
  AttentionViews views{*q, *k, *v, std::nullopt, *out, std::nullopt, std::nullopt, call.scale, call.causal != 0};
  if (call.n_inputs > own && !(views.mask = view4_of(call.inputs[own], 4))) {
    return std::nullopt;
  }
  return views;
}

/// A view shaped and stored like another.
std::optional<View4> view_like(const DLTensor* tensor, const View4& other) {
  const std::optional<View4> view = view4_of(tensor, 4);
  return view && view->shape == other.shape && view->storage == other.storage ? view : std::nullopt;
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

/// Cumulative lengths; nothing where they do not start at 0, fall, or go beyond total.
std::optional<std::vector<std::int64_t>> cumulative_lengths(const DLTensor* tensor, std::int64_t total) {
  if (tensor == nullptr || tensor->ndim != 1 || tensor->device.device_type != kDLCPU || tensor->shape == nullptr ||
      tensor->shape[0] < 1 || tensor->data == nullptr || tensor->dtype.code != kDLInt || tensor->dtype.lanes != 1 ||
      (tensor->dtype.bits != 32 && tensor->dtype.bits != 64)) {
    return std::nullopt;
  }
  const std::int64_t count = tensor->shape[0], stride = tensor->strides == nullptr ? 1 : tensor->strides[0];
  if (count > 1 && stride <= 0) {
    return std::nullopt;
  }
  const auto* data = static_cast<const std::byte*>(tensor->data) + tensor->byte_offset;
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::byte* from = data + i * stride * (tensor->dtype.bits / 8);
    ends.push_back(tensor->dtype.bits == 32 ? load_bits<std::int32_t>(from) : load_bits<std::int64_t>(from));
    if (ends.back() < (i == 0 ? 0 : ends[ends.size() - 2]) || ends.back() > (i == 0 ? 0 : total)) {
      return std::nullopt;
    }
  }
  return ends;
}

/// Places [begin, end) of the third dimension.
View4 part_of(const View4& view, std::int64_t begin, std::int64_t end) {
  View4 part = view;
  part.shape[2] = end - begin;
  if (part.data != nullptr) {
    part.data += begin * part.strides[2];
  }
  return part;
}

}  // namespace

std::optional<AttentionViews> attention_views(const softcheck_call* call) {
  if (!call_fits(call, 3)) {
    return std::nullopt;
  }
  std::optional<AttentionViews> views = common_views(*call, call->outputs[0], 3);
  if (!views || (call->n_outputs > 1 && !(views->lse = view4_of(call->outputs[1], 3))) ||
      (call->n_outputs > 2 && !(views->entropy = view4_of(call->outputs[2], 3)))) {
    return std::nullopt;
  }
  return shapes_fit(*views) && formats_fit(*views) ? views : std::nullopt;
}

std::optional<AttentionGradientViews> attention_gradient_views(const softcheck_call* call) {
  if (!call_fits(call, 4)) {
    return std::nullopt;
  }
  const std::optional<AttentionViews> forward = common_views(*call, call->inputs[3], 4);
  if (!forward || !shapes_fit(*forward) || !formats_fit(*forward)) {
    return std::nullopt;
  }
  const std::optional<View4> dq = view_like(call->outputs[0], forward->q);
  if (!dq) {
    return std::nullopt;
  }
  AttentionGradientViews views{*forward, *dq, std::nullopt, std::nullopt};
  if ((call->n_outputs > 1 && !(views.dk = view_like(call->outputs[1], forward->k))) ||
      (call->n_outputs > 2 && !(views.dv = view_like(call->outputs[2], forward->v)))) {
    return std::nullopt;
  }
  return views;
}

std::optional<PackedViews> packed_views(const softcheck_call* call) {
  if (!call_fits(call, 5) || call->n_inputs != 5) {
    return std::nullopt;
  }
  const std::optional<View4> q = packed_view(call->inputs[0]), k = packed_view(call->inputs[1]);
  const std::optional<View4> v = packed_view(call->inputs[2]), out = packed_view(call->outputs[0]);
  if (!q || !k || !v || !out) {
    return std::nullopt;
  }
  AttentionViews all{*q, *k, *v, std::nullopt, *out, std::nullopt, std::nullopt, call->scale, call->causal != 0};
  if ((call->n_outputs > 1 && !(all.lse = packed_rows(call->outputs[1]))) ||
      (call->n_outputs > 2 && !(all.entropy = packed_rows(call->outputs[2]))) || !shapes_fit(all) ||
      !formats_fit(all)) {
    return std::nullopt;
  }
  std::optional<std::vector<std::int64_t>> query_ends = cumulative_lengths(call->inputs[3], all.queries());
  std::optional<std::vector<std::int64_t>> key_ends = cumulative_lengths(call->inputs[4], all.keys());
  if (!query_ends || !key_ends || query_ends->size() != key_ends->size()) {
    return std::nullopt;
  }
  return PackedViews{all, std::move(*query_ends), std::move(*key_ends)};
}

AttentionViews PackedViews::sequence(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  AttentionViews one = all;
  for (View4* view : {&one.q, &one.out}) {
    *view = part_of(*view, query_ends[i], query_ends[i + 1]);
  }
  for (View4* view : {&one.k, &one.v}) {
    *view = part_of(*view, key_ends[i], key_ends[i + 1]);
  }
  for (std::optional<View4>* rows : {&one.lse, &one.entropy}) {
    if (*rows) {
      *rows = part_of(**rows, query_ends[i], query_ends[i + 1]);
    }
  }
  return one;
}

}  // namespace softcheck::kernels
