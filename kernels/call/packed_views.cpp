#include "kernels/call/packed_views.hpp"

#include <algorithm>
#include <array>

namespace softcheck::kernels::call {
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

/// The lengths after `own` inputs.
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

std::int64_t number(const CumulativeLengths& lengths, std::int64_t index) {
  const std::byte* from = lengths.data + index * lengths.stride * (lengths.wide ? 8 : 4);
  return lengths.wide ? load_bits<std::int64_t>(from) : load_bits<std::int32_t>(from);
}

bool fit(const CumulativeLengths& lengths, std::int64_t total) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < lengths.count; ++i) {
    const std::int64_t next = number(lengths, i);
    if (next < last || next > (i == 0 ? 0 : total)) {
      return false;
    }
    last = next;
  }
  return true;
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

template <class Views>
Places places_of(const PackedCall<Views>& call, std::int64_t index) {
  return {number(call.query_offsets, index), number(call.query_offsets, index + 1), number(call.key_offsets, index),
          number(call.key_offsets, index + 1)};
}

AttentionViews part_of(AttentionViews views, const Places& of) {
  cut(views.q, of.first_query, of.query_end);
  cut(views.k, of.first_key, of.key_end);
  cut(views.v, of.first_key, of.key_end);
  cut(views.out, of.first_query, of.query_end);
  cut(views.lse, of.first_query, of.query_end);
  cut(views.entropy, of.first_query, of.query_end);
  cut(views.maximum, of.first_query, of.query_end);
  return views;
}

AttentionStatisticsViews part_of(AttentionStatisticsViews views, const Places& of) {
  views.forward = part_of(views.forward, of);
  for (std::optional<View4>& rows : views.statistics) {
    cut(rows, of.first_query, of.query_end);
  }
  return views;
}

AttentionGradientViews part_of(AttentionGradientViews views, const Places& of) {
  views.forward = part_of(views.forward, of);
  cut(views.dq, of.first_query, of.query_end);
  cut(views.dk, of.first_key, of.key_end);
  cut(views.dv, of.first_key, of.key_end);
  return views;
}

/// The call as one of version 1; nothing if its version 2 has more than packed sequences.
std::optional<softcheck_call> packed_tensors(const softcheck_call* call, softcheck_op op) {
  if (call == nullptr) {
    return std::nullopt;
  }
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr) {
    return *call;
  }
  static constexpr std::array<std::uint32_t, 5> roles{SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE,
                                                      SOFTCHECK_ROLE_CU_Q, SOFTCHECK_ROLE_CU_K};
  const softcheck_attributes& a = *whole->attributes;
  if (whole->op != static_cast<std::uint32_t>(op) || call->n_inputs != roles.size() ||
      !std::equal(roles.begin(), roles.end(), whole->input_roles) || a.window_left_plus_1 != 0 ||
      a.window_right_plus_1 != 0 || a.softcap != 0 || a.causal_top_left != 0 || a.page_size != 0) {
    return std::nullopt;
  }
  softcheck_call tensors = *call;
  tensors.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  return tensors;
}

}  // namespace

std::optional<PackedCall<AttentionViews>> packed_call(const softcheck_call* call, softcheck_op op) {
  const std::optional<softcheck_call> tensors = packed_tensors(call, op);
  return tensors ? packed(&*tensors, attention_views(&*tensors, Layout::packed), 3) : std::nullopt;
}

std::optional<PackedCall<AttentionGradientViews>> packed_gradient_call(const softcheck_call* call) {
  return packed(call, attention_gradient_views(call, Layout::packed), 4);
}

std::optional<PackedCall<AttentionStatisticsViews>> packed_statistics_call(const softcheck_call* call) {
  return packed(call, attention_statistics_views(call, Layout::packed), 2);
}

bool lengths_fit(const CumulativeLengths& of_queries, const CumulativeLengths& of_keys, const AttentionViews& all) {
  return fit(of_queries, all.queries()) && fit(of_keys, all.keys());
}

AttentionViews sequence_of(const PackedCall<AttentionViews>& call, std::int64_t index) {
  return part_of(call.all, places_of(call, index));
}
AttentionGradientViews sequence_of(const PackedCall<AttentionGradientViews>& call, std::int64_t index) {
  return part_of(call.all, places_of(call, index));
}
AttentionStatisticsViews sequence_of(const PackedCall<AttentionStatisticsViews>& call, std::int64_t index) {
  return part_of(call.all, places_of(call, index));
}

}  // namespace softcheck::kernels::call
