#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

/// Most items that a query attends to.
using Window = std::optional<std::uint64_t>;

/// Which numbers a decoder of Llama's layout normalises behind the projections.
enum class HeadNormKind { none, each_head, all_heads };

/// What tells the decoders apart that share Llama's layout: layers.L.self_attn with q_proj and k_proj, grouped key
/// heads, rotary positions, an RMSNorm before.
struct DecoderTraits {
  bool bias = false;                     // of the projections of queries, keys and values
  std::optional<bool> output_bias = {};  // of the projection behind the heads; none: as those before them
  bool mlp_bias = false;
  bool fused = false;          // qkv_proj: rows of all queries, then of all keys, then of all values
  bool gain_plus_one = false;  // of every norm
  bool input_norm = true;
  bool rows_as_stored = true;  // the first layer's norm reads the rows of tokens as they are
  double epsilon = 1e-6;       // of the norms, where the key is absent
  HeadNormKind head_norm = HeadNormKind::none;
  bool sinks = false;
  std::optional<numerics::Enclosure> scale = {};  // none: head_dim^(-1/2)
  std::optional<double> softcap = {};
  std::function<std::optional<Rotary>(std::int64_t layer)> rotary = {};
  std::function<Window(std::int64_t layer)> window = {};   // empty: none
  std::function<void(std::int64_t layer)> hold_more = {};  // an architecture's own parts against the configuration
};

/// What an architecture takes for a size whose key is absent; none: the key must be there, but for head_dim, which is
/// hidden_size / num_attention_heads then, and the key heads, which are as many as the heads.
struct DecoderDefaults {
  std::optional<std::int64_t> heads = {}, key_heads = {}, head_dim = {}, context = {};
};

/// Sizes by the keys that these decoders share: num_hidden_layers, num_attention_heads, num_key_value_heads,
/// hidden_size, head_dim, max_position_embeddings.
ModelDescription decoder_sizes(CheckpointView& view, const DecoderDefaults& defaults = {});

/// Adds the heads to a model that has its sizes, and refuses what the view was not asked for.
///
/// harmless   keys of this architecture
void describe_decoder(CheckpointView& view, ModelDescription& model, const DecoderTraits& traits,
                      std::initializer_list<std::string_view> harmless = {});

/// layer_types of a configuration: whether each layer attends to a window only.
///
/// fallback   by layer, where the key is absent
std::vector<bool> windowed_layers(CheckpointView& view, std::int64_t layers,
                                  const std::function<bool(std::int64_t)>& fallback);

/// Qwen's: where use_sliding_window is set, the layers from max_window_layers on, or those of layer_types.
std::vector<Window> windows_of_qwen(CheckpointView& view, std::int64_t layers);

/// Gemma's and gpt-oss': the layers that layer_types says; where it is absent, all but every so many.
///
/// period     of the layers without a window
/// fallback   where sliding_window is absent
std::vector<Window> alternate_windows(CheckpointView& view, std::int64_t layers, std::int64_t period,
                                      std::int64_t fallback);

}  // namespace softcheck::models
