#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

/// Radians a position of each plane: base^(-2 p / width), p < width / 2.
std::vector<numerics::Enclosure> base_frequencies(const numerics::Enclosure& base, std::int64_t width);

/// Llama 3.1: planes that turn less than low times within the original context are slowed by the factor, those that
/// turn more than high times stay, those between are mixed.
struct Llama3Scaling {
  numerics::Enclosure factor, low, high, original_context;
};
std::vector<numerics::Enclosure> llama3_frequencies(std::vector<numerics::Enclosure> base,
                                                    const Llama3Scaling& scaling);

/// YaRN (arXiv 2309.00071): the ramp goes from plane to plane, between those that turn beta_fast and beta_slow times.
struct YarnScaling {
  numerics::Enclosure factor, beta_fast, beta_slow, original_context;
  bool truncate = true;  // the ramp begins and ends at a whole plane
};
/// base     theta, > 1
std::vector<numerics::Enclosure> yarn_frequencies(const numerics::Enclosure& base, std::int64_t width,
                                                  const YarnScaling& scaling);
/// 0.1 m ln factor + 1, and 1 where factor <= 1.
numerics::Enclosure yarn_magnitude(double factor, double m = 1);

/// What an architecture makes of rope keys that are absent, and which of them it heeds.
struct RopeDefaults {
  double theta = 10000;
  std::string theta_key = "rope_theta";
  double partial = 1;            // the part of a head that is rotated
  std::string partial_key = {};  // empty: a head is rotated as a whole
  std::optional<std::int64_t> original_context = {};
  bool yarn_is_longrope = false;  // Phi-3's first files
};

/// The key that has the table of rope parameters: rope_scaling (transformers 4) or rope_parameters (5); empty where
/// neither is there, refused where both are.
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
