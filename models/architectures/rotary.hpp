#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"

namespace softcheck::models {

/// What an architecture makes of rope keys that are absent, and which of them it heeds.
struct RopeDefaults {
  double theta = 10000;
  std::string theta_key = "rope_theta";
  double partial = 1;            // the part of a head that is rotated
  std::string partial_key = {};  // empty: a head is rotated as a whole
  std::optional<std::int64_t> original_context = {};
  bool yarn_is_longrope = false;  // Phi-3's first files
};

/// The key that has the table of rope parameters: rope_scaling (transformers 4) before rope_parameters (5); empty where
/// neither is there.
std::string rope_table(CheckpointView& view);

/// The rotation that a table of rope parameters describes, frequencies as enclosures of the real numbers. Source:
/// transformers 5.23, modeling_rope_utils.py; the types are default, linear, dynamic, llama3, yarn and longrope.
///
/// table      its path, empty: of type default
/// context    max_position_embeddings
/// throws     UnsupportedTensorFile naming a type or key that is not known; TensorFileError on numbers out of range
Rotary read_rotary(CheckpointView& view, const std::string& table, std::int64_t head_dim, std::int64_t context,
                   const RopeDefaults& defaults = {});

}  // namespace softcheck::models
