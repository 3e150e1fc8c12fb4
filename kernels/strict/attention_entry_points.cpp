// The attention kernels of kernels/block/ at the CPU's speed: contracts and bits are those of the emulated ones
// (kernels/emulator/plugin) and of those on a GPU. A NaN stands where they have one; its bits are the machine's.
#include "kernels/cpu/packed_views.hpp"
#include "kernels/strict/attention_tile.hpp"
#include "kernels/strict/gradient_tiles.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels::strict {
namespace {

template <class T>
void attend(const AttentionViews& views, std::int64_t keys_of_part, bool adaptive) {
  each_tile(
      views.q, [&] { return std::make_unique<AttentionTile<T>>(views, keys_of_part); },
      [=](AttentionTile<T>& tile, const TilePlace& place) { tile.attend(place, adaptive); });
}

template <class T>
void differentiate(const AttentionGradientViews& views, bool adaptive) {
  KeptQueries<T> kept(views.forward);
  const auto one = [=](auto& tile, const TilePlace& place) { tile.differentiate(place, adaptive); };
  each_tile(
      views.forward.q, [&] { return std::make_unique<QueryGradientTile<T>>(views, kept); }, one);
  if (!views.dk) return;
  each_tile(
      views.forward.k, [&] { return std::make_unique<KeyGradientTile<T>>(views, kept); }, one);
}

/// How many of a call's keys make a part.
using Parting = std::int64_t (*)(std::int64_t keys);

void attend_any(const AttentionViews& views, Parting parting, bool adaptive) {
  const std::int64_t keys_of_part = parting(views.keys());
  views.q.storage == Storage::f64 ? attend<double>(views, keys_of_part, adaptive)
                                  : attend<float>(views, keys_of_part, adaptive);
}

void differentiate_any(const AttentionGradientViews& views, bool adaptive) {
  views.forward.q.storage == Storage::f64 ? differentiate<double>(views, adaptive)
                                          : differentiate<float>(views, adaptive);
}

int run(const softcheck_call* call, Parting parting, bool adaptive) try {
  const std::optional<AttentionViews> views = attention_views(call);
  if (!views) return 1;
  attend_any(*views, parting, adaptive);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

int run_packed(const softcheck_call* call, Parting parting, bool adaptive) try {
  const std::optional<PackedCall<AttentionViews>> packed = packed_call(call);
  if (!packed || !lengths_fit(*packed)) return 1;
  for (std::int64_t i = 0; i < packed->sequences(); ++i) attend_any(sequence_of(*packed, i), parting, adaptive);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

int run_backward(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (!views) return 1;
  differentiate_any(*views, adaptive);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

int run_packed_backward(const softcheck_call* call, bool adaptive) try {
  const std::optional<PackedCall<AttentionGradientViews>> packed = packed_gradient_call(call);
  if (!packed || !lengths_fit(*packed)) return 1;
  for (std::int64_t i = 0; i < packed->sequences(); ++i) differentiate_any(sequence_of(*packed, i), adaptive);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

std::int64_t all_keys(std::int64_t keys) { return keys; }

}  // namespace
}  // namespace softcheck::kernels::strict

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_strict_attention(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::strict::all_keys, false);
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_attention(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::strict::all_keys, true);
}

SOFTCHECK_EXPORT int softcheck_strict_split_attention(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::keys_of_part, false);
}

SOFTCHECK_EXPORT int softcheck_strict_split_adaptive_attention(const softcheck_call* call) {
  return kernels::strict::run(call, kernels::keys_of_part, true);
}

// (q, k, v, d_out[, mask]) to dq, dk, dv.
SOFTCHECK_EXPORT int softcheck_strict_attention_backward(const softcheck_call* call) {
  return kernels::strict::run_backward(call, false);
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_attention_backward(const softcheck_call* call) {
  return kernels::strict::run_backward(call, true);
}

// Packed sequences, kernels/cpu/packed_views.hpp, one after the other.

SOFTCHECK_EXPORT int softcheck_strict_attention_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed(call, kernels::strict::all_keys, false);
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_attention_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed(call, kernels::strict::all_keys, true);
}

SOFTCHECK_EXPORT int softcheck_strict_split_attention_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed(call, kernels::keys_of_part, false);
}

SOFTCHECK_EXPORT int softcheck_strict_split_adaptive_attention_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed(call, kernels::keys_of_part, true);
}

SOFTCHECK_EXPORT int softcheck_strict_attention_backward_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed_backward(call, false);
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_attention_backward_varlen(const softcheck_call* call) {
  return kernels::strict::run_packed_backward(call, true);
}
