#include "kernels/cpu/packed_views.hpp"

namespace softcheck::kernels {
namespace {

std::optional<CumulativeLengths> lengths_of(const DLTensor* tensor) {
  if (tensor == nullptr || tensor->ndim != 1 || tensor->device.device_type != kDLCPU || tensor->shape == nullptr ||
      tensor->shape[0] < 1 || tensor->data == nullptr || tensor->dtype.code != kDLInt || tensor->dtype.lanes != 1 ||
      (tensor->dtype.bits != 32 && tensor->dtype.bits != 64)) {
    return std::nullopt;
  }
  const std::int64_t count = tensor->shape[0], stride = tensor->strides == nullptr ? 1 : tensor->strides[0];
  if (count > 1 && stride <= 0) {
    return std::nullopt;
  }
  return CumulativeLengths{static_cast<const std::byte*>(tensor->data) + tensor->byte_offset, tensor->dtype.bits == 64,
                           count, stride};
}

/// The lengths behind own inputs.
template <class Views>
std::optional<PackedCall<Views>> packed(const softcheck_call* call, const std::optional<Views>& all,
                                        std::uint32_t own) {
  if (!all) {
    return std::nullopt;
  }
  const std::optional<CumulativeLengths> of_queries = lengths_of(call->inputs[own]);
  const std::optional<CumulativeLengths> of_keys = lengths_of(call->inputs[own + 1]);
  if (!of_queries || !of_keys || of_queries->count != of_keys->count) {
    return std::nullopt;
  }
  return PackedCall<Views>{*all, *of_queries, *of_keys};
}

/// The numbers themselves; nothing where they do not start at 0, fall, or go beyond total.
std::optional<std::vector<std::int64_t>> ends_of(const CumulativeLengths& lengths, std::int64_t total) {
  std::vector<std::int64_t> ends;
  for (std::int64_t i = 0; i < lengths.count; ++i) {
    const std::byte* from = lengths.data + i * lengths.stride * (lengths.wide ? 8 : 4);
    ends.push_back(lengths.wide ? load_bits<std::int64_t>(from) : load_bits<std::int32_t>(from));
    if (ends.back() < (i == 0 ? 0 : ends[ends.size() - 2]) || ends.back() > (i == 0 ? 0 : total)) {
      return std::nullopt;
    }
  }
  return ends;
}

/// Places [begin, end) of the third dimension.
void cut(View4& view, std::int64_t begin, std::int64_t end) {
  view.shape[2] = end - begin;
  if (view.data != nullptr) {
    view.data += begin * view.strides[2];
  }
}
void cut(std::optional<View4>& view, std::int64_t begin, std::int64_t end) {
  if (view) {
    cut(*view, begin, end);
  }
}

struct Places {
  std::int64_t first_query, query_end, first_key, key_end;
};

AttentionViews part_of(AttentionViews views, const Places& of) {
  cut(views.q, of.first_query, of.query_end);
  cut(views.k, of.first_key, of.key_end);
  cut(views.v, of.first_key, of.key_end);
  cut(views.out, of.first_query, of.query_end);
  cut(views.lse, of.first_query, of.query_end);
  cut(views.entropy, of.first_query, of.query_end);
  return views;
}

AttentionGradientViews part_of(AttentionGradientViews views, const Places& of) {
  views.forward = part_of(views.forward, of);
  cut(views.dq, of.first_query, of.query_end);
  cut(views.dk, of.first_key, of.key_end);
  cut(views.dv, of.first_key, of.key_end);
  return views;
}

template <class Views>
std::optional<SequenceCalls<Views>> read(const PackedCall<Views>& call, std::int64_t queries, std::int64_t keys) {
  const std::optional<std::vector<std::int64_t>> query_ends = ends_of(call.query_ends, queries);
  const std::optional<std::vector<std::int64_t>> key_ends = ends_of(call.key_ends, keys);
  if (!query_ends || !key_ends) {
    return std::nullopt;
  }
  SequenceCalls<Views> calls{call.all, {}};
  for (std::size_t i = 0; i + 1 < query_ends->size(); ++i) {
    calls.each.push_back(
        part_of(call.all, {(*query_ends)[i], (*query_ends)[i + 1], (*key_ends)[i], (*key_ends)[i + 1]}));
  }
  return calls;
}

}  // namespace

std::optional<PackedCall<AttentionViews>> packed_call(const softcheck_call* call) {
  return packed(call, attention_views(call, Layout::packed), 3);
}

std::optional<PackedCall<AttentionGradientViews>> packed_gradient_call(const softcheck_call* call) {
  return packed(call, attention_gradient_views(call, Layout::packed), 4);
}

std::optional<SequenceCalls<AttentionViews>> sequences_of(const std::optional<PackedCall<AttentionViews>>& call) {
  return call ? read(*call, call->all.queries(), call->all.keys()) : std::nullopt;
}

std::optional<SequenceCalls<AttentionGradientViews>> sequences_of(
    const std::optional<PackedCall<AttentionGradientViews>>& call) {
  return call ? read(*call, call->all.forward.queries(), call->all.forward.keys()) : std::nullopt;
}

}  // namespace softcheck::kernels
