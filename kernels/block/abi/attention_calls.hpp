#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>

#include "kernels/block/abi/element_types.hpp"
#include "kernels/block/attention_backward.hpp"
#include "kernels/block/attention_statistics.hpp"
#include "kernels/call/packed_views.hpp"

// From a call of the ABI to the launch of an attention kernel, on either machine. Host code. A Launcher has the type
// Block, its block context, and launches a body by run<adaptive>(arguments), run_statistics(arguments) or
// run_backward<adaptive>(arguments). The functions below that return an int return that of the launcher, or 1, a
// refusal.
namespace softcheck::kernels {

/// The most columns of a value that the threads of a block can hold. Longer values are refused.
inline constexpr std::int64_t longest_value = std::int64_t{given_columns} * attention_threads;
/// The most columns of a query, which lies in shared memory. Longer queries are refused.
inline constexpr std::int64_t longest_query = 1024;

/// A view of the call as a tensor of elements T, whose size divides the view's strides. The stride of a dimension of
/// extent 1 does not matter; it becomes 0, which is a multiple of every chunk.
template <class View, class T>
Tensor4<View> tensor_of(const call::View4& view) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  Tensor4<View> tensor;
  std::int64_t last = 0;
  bool empty = false;
  for (std::size_t d = 0; d < 4; ++d) {
    tensor.strides[d] = view.shape[d] == 1 && d < 3 ? 0 : view.strides[d] / size;
    last += (view.shape[d] - 1) * tensor.strides[d];
    empty = empty || view.shape[d] == 0;
  }
  tensor.elements = View(reinterpret_cast<T*>(view.data), empty ? 0 : last + 1);
  return tensor;
}

/// The arguments of a call that is not packed. Result: the format of lse, entropy and maximum.
template <class B, class Element, class Result>
AttentionArguments<B, Element, Result> attention_arguments(const call::AttentionViews& views) {
  using In = typename B::template Global<const Element>;
  using Rows = typename B::template Global<Result>;
  AttentionArguments<B, Element, Result> arguments;
  arguments.q = tensor_of<In, const Element>(views.q);
  arguments.k = tensor_of<In, const Element>(views.k);
  arguments.v = tensor_of<In, const Element>(views.v);
  arguments.out = tensor_of<typename B::template Global<Element>, Element>(views.out);
  if (views.mask) {
    using Mask = typename B::template Global<const std::uint8_t>;
    arguments.mask = tensor_of<Mask, const std::uint8_t>(*views.mask);
    // A mask for all heads.
    if (views.mask->shape[1] == 1) arguments.mask.strides[1] = 0;
  }
  if (views.lse) arguments.lse = tensor_of<Rows, Result>(*views.lse);
  if (views.entropy) arguments.entropy = tensor_of<Rows, Result>(*views.entropy);
  if (views.maximum) arguments.maximum = tensor_of<Rows, Result>(*views.maximum);
  arguments.masked = views.mask.has_value();
  arguments.causal = views.causal;
  arguments.batch = views.batch();
  arguments.heads = views.heads();
  arguments.key_heads = views.key_heads();
  arguments.queries = views.queries();
  arguments.keys = views.keys();
  arguments.dim = views.q.shape[3];
  arguments.value_dim = views.v.shape[3];
  arguments.scale = static_cast<Accumulator<Element>>(views.scale);
  return arguments;
}

/// Returns take(std::integral_constant<int, width>()), width the narrower of the tensor cores' tiles, 64 or 128, that
/// holds dim and value_dim. Returns 1, a refusal, for longer heads, for f32 and f64, and if the numbers of a query are
/// not f32: this halves the number of compiled kernels.
template <class B, class Element, class Result, class Take>
int with_mma_width(const AttentionArguments<B, Element, Result>& arguments, const Take& take) {
  if constexpr (sizeof(Element) == 2 && sizeof(Result) == 4) {
    const std::int64_t longest = std::max(arguments.dim, arguments.value_dim);
    if (longest <= 64) return take(std::integral_constant<int, 64>());
    if (longest <= 128) return take(std::integral_constant<int, 128>());
  }
  return 1;
}

/// The lengths as a view of int32 or int64.
template <class T, class View>
View numbers_of(const call::CumulativeLengths& lengths) {
  return View(reinterpret_cast<const T*>(lengths.data), (lengths.count - 1) * lengths.stride + 1);
}

/// The lengths as the bodies read them.
template <class B>
SequenceOffsets<B> sequence_offsets(const call::CumulativeLengths& lengths) {
  SequenceOffsets<B> ends;
  ends.stride = lengths.stride;
  if (lengths.wide) {
    ends.wide = numbers_of<std::int64_t, typename B::template Global<const std::int64_t>>(lengths);
  } else {
    ends.narrow = numbers_of<std::int32_t, typename B::template Global<const std::int32_t>>(lengths);
  }
  return ends;
}

/// The arguments with the sequences of a packed call; unchanged if packed is nullptr.
template <class B, class Element, class Result, class Views>
AttentionArguments<B, Element, Result> with_sequences(AttentionArguments<B, Element, Result> arguments,
                                                      const call::PackedCall<Views>* packed) {
  if (packed != nullptr) {
    arguments.sequences = packed->sequences();
    arguments.query_offsets = sequence_offsets<B>(packed->query_offsets);
    arguments.key_offsets = sequence_offsets<B>(packed->key_offsets);
  }
  return arguments;
}

/// The format of the call's results; nothing if they have several, or_else if the call has none.
inline std::optional<call::Storage> format_of(std::span<const std::optional<call::View4>> results,
                                              call::Storage or_else) {
  std::optional<call::Storage> format;
  for (const std::optional<call::View4>& result : results) {
    if (!result) continue;
    if (format && *format != result->storage) return std::nullopt;
    format = result->storage;
  }
  return format.value_or(or_else);
}

/// Whether the format is one of the accumulators'.
inline bool is_wide(call::Storage format) { return format == call::Storage::f32 || format == call::Storage::f64; }

/// Launches attention for the formats of the call. Refuses formats that the bodies do not have and heads that are too
/// long.
///
/// packed   nullptr if the call is not packed; then its views are views
template <bool adaptive, class Launcher>
int run_attention(const call::AttentionViews& views, const call::PackedCall<call::AttentionViews>* packed,
                  const Launcher& launcher) {
  if (views.v.shape[3] > longest_value || views.q.shape[3] > longest_query) return 1;
  const std::optional<call::View4> rows[] = {views.lse, views.entropy, views.maximum};
  const std::optional<call::Storage> results = format_of(rows, call::Storage::f32);
  if (!results) return 1;
  if (packed != nullptr && packed->sequences() == 0) return 0;
  return with_element(views.q.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::Block;
    using Wide = Accumulator<Element>;
    if (is_wide(*results)) {
      return launcher.template run<adaptive>(with_sequences(attention_arguments<B, Element, Wide>(views), packed));
    }
    return launcher.template run<adaptive>(with_sequences(attention_arguments<B, Element, Element>(views), packed));
  });
}

/// Launches attention for a call of the ABI that is not packed.
template <bool adaptive, class Launcher>
int run_attention_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::AttentionViews> views = call::attention_views(call);
  return views ? run_attention<adaptive>(*views, nullptr, launcher) : 1;
}

/// Launches attention for a packed call (kernels/call/packed_views.hpp).
///
/// readable   the same call with its lengths in the host's memory, where lengths that do not fit are refused; nullptr
///            where they are on a device, where the bodies clamp them
template <bool adaptive, class Launcher>
int run_packed_attention_call(const softcheck_call* call, const softcheck_call* readable, const Launcher& launcher) {
  constexpr softcheck_op op = adaptive ? SOFTCHECK_OP_ADAPTIVE_ATTENTION : SOFTCHECK_OP_ATTENTION;
  const std::optional<call::PackedCall<call::AttentionViews>> packed = call::packed_call(call, op);
  return packed && (readable == nullptr || call::lengths_fit(*call::packed_call(readable, op)))
             ? run_attention<adaptive>(packed->all, &*packed, launcher)
             : 1;
}

/// The arguments of a call of attention's statistics.
template <class B, class Element, class Result>
AttentionStatisticsArguments<B, Element, Result> statistics_arguments(
    const call::AttentionStatisticsViews& views, const call::PackedCall<call::AttentionStatisticsViews>* packed) {
  using Rows = typename B::template Global<Result>;
  AttentionStatisticsArguments<B, Element, Result> arguments;
  arguments.forward = with_sequences(attention_arguments<B, Element, Result>(views.forward), packed);
  for (std::size_t i = 0; i < views.statistics.size(); ++i) {
    if (views.statistics[i]) arguments.results[i] = tensor_of<Rows, Result>(*views.statistics[i]);
  }
  return arguments;
}

/// Launches attention's statistics. Refuses as run_attention.
template <class Launcher>
int run_statistics(const call::AttentionStatisticsViews& views,
                   const call::PackedCall<call::AttentionStatisticsViews>* packed, const Launcher& launcher) {
  if (views.forward.q.shape[3] > longest_query) return 1;
  const std::optional<call::Storage> results = format_of(views.statistics, call::Storage::f32);
  if (!results) return 1;
  if (packed != nullptr && packed->sequences() == 0) return 0;
  return with_element(views.forward.q.storage, [&]<class Element>(std::type_identity<Element>) {
    using B = typename Launcher::Block;
    return is_wide(*results)
               ? launcher.run_statistics(statistics_arguments<B, Element, Accumulator<Element>>(views, packed))
               : launcher.run_statistics(statistics_arguments<B, Element, Element>(views, packed));
  });
}

template <class Launcher>
int run_attention_statistics_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::AttentionStatisticsViews> views = call::attention_statistics_views(call);
  return views ? run_statistics(*views, nullptr, launcher) : 1;
}

/// As run_packed_attention_call.
template <class Launcher>
int run_packed_statistics_call(const softcheck_call* call, const softcheck_call* readable, const Launcher& launcher) {
  const std::optional<call::PackedCall<call::AttentionStatisticsViews>> packed = call::packed_statistics_call(call);
  return packed && (readable == nullptr || call::lengths_fit(*call::packed_statistics_call(readable)))
             ? run_statistics(packed->all, &*packed, launcher)
             : 1;
}

/// The arguments of a call of attention's gradient, without arguments.queries.
template <class B, class Element>
GradientArguments<B, Element> gradient_arguments(const call::AttentionGradientViews& views,
                                                 const call::PackedCall<call::AttentionGradientViews>* packed) {
  using In = typename B::template Global<const Element>;
  using Out = typename B::template Global<Element>;
  GradientArguments<B, Element> arguments;
  arguments.forward = with_sequences(attention_arguments<B, Element, Element>(views.forward), packed);
  arguments.forward.out = {};
  arguments.d_out = tensor_of<In, const Element>(views.forward.out);
  arguments.dq = tensor_of<Out, Element>(views.dq);
  if (views.dk) arguments.dk = tensor_of<Out, Element>(*views.dk);
  if (views.dv) arguments.dv = tensor_of<Out, Element>(*views.dv);
  arguments.of_keys = views.dk.has_value();
  return arguments;
}

/// Launches attention backward: the launcher allocates arguments.queries. It refuses the same calls as run_attention,
/// and dim above longest_value.
template <bool adaptive, class Launcher>
int run_backward(const call::AttentionGradientViews& views,
                 const call::PackedCall<call::AttentionGradientViews>* packed, const Launcher& launcher) {
  if (views.by_lse || std::max(views.forward.v.shape[3], views.forward.q.shape[3]) > longest_value) return 1;
  if (packed != nullptr && packed->sequences() == 0) return 0;
  return with_element(views.forward.q.storage, [&]<class Element>(std::type_identity<Element>) {
    return launcher.template run_backward<adaptive>(
        gradient_arguments<typename Launcher::Block, Element>(views, packed));
  });
}

template <bool adaptive, class Launcher>
int run_backward_call(const softcheck_call* call, const Launcher& launcher) {
  const std::optional<call::AttentionGradientViews> views = call::attention_gradient_views(call);
  return views ? run_backward<adaptive>(*views, nullptr, launcher) : 1;
}

/// As run_packed_attention_call.
template <bool adaptive, class Launcher>
int run_packed_backward_call(const softcheck_call* call, const softcheck_call* readable, const Launcher& launcher) {
  const std::optional<call::PackedCall<call::AttentionGradientViews>> packed = call::packed_gradient_call(call);
  return packed && (readable == nullptr || call::lengths_fit(*call::packed_gradient_call(readable)))
             ? run_backward<adaptive>(packed->all, &*packed, launcher)
             : 1;
}

}  // namespace softcheck::kernels
