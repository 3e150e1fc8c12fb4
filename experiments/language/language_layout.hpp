#pragma once

#include <cstddef>

#include "experiments/language/characters.hpp"

namespace softcheck::experiments {

/// A decoder of Llama's architecture: RMSNorm before each half of a layer, rotary positions, SwiGLU, one table of
/// embeddings for input and output, no biases.
struct LanguageShape {
  int layers = 4;
  int width = 128;  // of a token's vector
  int heads = 4;    // divide the width into even parts
  int inner = 320;  // of the feed-forward half

  constexpr int head_width() const { return width / heads; }
  friend constexpr bool operator==(const LanguageShape&, const LanguageShape&) = default;
};

inline constexpr int most_layers = 8;
/// The epsilon of RMSNorm's mean square, and the base of the rotary frequencies: Llama's in transformers.
inline constexpr double norm_epsilon = 1e-6;
inline constexpr double rotary_base = 10000;

/// The first index of each tensor in the flat array of all parameters. Matrices are (outputs, inputs), row-major.
struct LanguagePlaces {
  LanguageShape shape;

  constexpr std::size_t square() const { return size(shape.width, shape.width); }
  constexpr std::size_t embedding() const { return 0; }  // (character_count, width)
  constexpr std::size_t layer(int index) const {
    return size(character_count, shape.width) + static_cast<std::size_t>(index) * layer_size();
  }
  constexpr std::size_t layer_size() const {
    return size(2, shape.width) + 4 * square() + size(3 * shape.inner, shape.width);
  }
  constexpr std::size_t input_norm(int index) const { return layer(index); }
  /// Queries, keys, values of all heads: (3 width, width).
  constexpr std::size_t projections(int index) const { return input_norm(index) + size(1, shape.width); }
  constexpr std::size_t output(int index) const { return projections(index) + 3 * square(); }
  constexpr std::size_t middle_norm(int index) const { return output(index) + square(); }
  /// Gate, then up: (2 inner, width).
  constexpr std::size_t gate(int index) const { return middle_norm(index) + size(1, shape.width); }
  constexpr std::size_t down(int index) const { return gate(index) + size(2 * shape.inner, shape.width); }
  constexpr std::size_t last_norm() const { return layer(shape.layers); }
  constexpr std::size_t count() const { return last_norm() + size(1, shape.width); }

 private:
  static constexpr std::size_t size(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
};

}  // namespace softcheck::experiments
