#pragma once

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

/// The rotation by a GGUF file's keys rope.* and, the one exception to reading no tensor, its small tables of divisors
/// (rope_freqs, rope_factors_short, rope_factors_long), as llama.cpp applies them.
///
/// layout     of the architecture
/// windowed   of Gemma 3's layers with a window, which are rotated by another base and never scaled
Rotary read_gguf_rotary(CheckpointView& view, const ModelDescription& model, PlaneLayout layout, bool windowed = false);

}  // namespace softcheck::models
