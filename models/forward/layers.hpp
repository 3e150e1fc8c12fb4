#pragma once

#include <cstdint>
#include <string>

#include "models/architectures/view.hpp"
#include "models/forward/network.hpp"

namespace softcheck::models {

/// A layer's block with what the description of its heads says: the projections to queries and keys of all heads, the
/// norm before them, scale and mask. The rest is left to fill in.
///
/// model    each layer's heads have rows one behind the other, as many key heads as heads
Block block_of_heads(const ModelDescription& model, std::int64_t layer);

/// The activation that a key of the configuration names; the fallback where it is absent.
///
/// throws   UnsupportedTensorFile naming the activation where it is not known
Activation known_activation(CheckpointView& view, const std::string& key, const std::string& fallback);

}  // namespace softcheck::models
