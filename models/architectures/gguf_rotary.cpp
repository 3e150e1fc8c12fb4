#include "models/architectures/gguf_rotary.hpp"

#include <string>
#include <utility>

#include "models/architectures/rotary_frequencies.hpp"

namespace softcheck::models {
namespace {

using numerics::Enclosure;

double positive_number(CheckpointView& view, const std::string& name, double fallback) {
  const double value = view.number(name, fallback);
  if (!(value > 0)) view.malformed("the key " + name + " must be > 0");
  return value;
}

/// A table of divisors of the frequencies.
std::vector<Enclosure> divided(CheckpointView& view, const std::string& table, std::vector<Enclosure> frequencies) {
  const auto planes = static_cast<std::int64_t>(frequencies.size());
  const StoredTensor& stored = *view.checkpoint().find(view.vector(table, planes).tensor);
  const TensorBlock block = view.checkpoint().read(stored, {0, 1}, {0, planes});
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const double middle = block.values(0, plane);
    if (!(middle - block.radius > 0)) view.malformed("the numbers of the tensor " + table + " must be > 0");
    frequencies[static_cast<std::size_t>(plane)] /= Enclosure::between(middle - block.radius, middle + block.radius);
  }
  return frequencies;
}

}  // namespace

Rotary read_gguf_rotary(CheckpointView& view, const ModelDescription& model, PlaneLayout layout, bool windowed) {
  view.require_head_dim(model.head_dim);
  Rotary rotary = {.width = view.count("rope.dimension_count", model.head_dim), .layout = layout};
  if (rotary.width > model.head_dim || rotary.width % 2 != 0) {
    view.malformed("rope.dimension_count must be even and at most " + std::to_string(model.head_dim));
  }
  const double theta = positive_number(view, "rope.freq_base", 10000);
  const Enclosure base(windowed ? positive_number(view, "rope.freq_base_swa", 10000) : theta);
  rotary.frequencies = {base_frequencies(base, rotary.width)};
  const std::string given = view.text("rope.scaling.type").value_or("none");
  const std::string type = windowed ? "none" : given;
  const double factor = positive_number(view, "rope.scaling.factor", 1);
  const Enclosure original(view.count("rope.scaling.original_context_length", model.context));
  view.key("rope.scaling.finetuned");
  rotary.factor = Enclosure(positive_number(view, "rope.scaling.attn_factor", 1));
  if (type == "yarn") {
    if (!(base - Enclosure(1)).certainly_positive()) view.malformed("yarn needs rope.freq_base > 1");
    const YarnScaling yarn = {.factor = Enclosure(factor),
                              .beta_fast = Enclosure(positive_number(view, "rope.scaling.yarn_beta_fast", 32)),
                              .beta_slow = Enclosure(positive_number(view, "rope.scaling.yarn_beta_slow", 1)),
                              .original_context = original};
    rotary.frequencies = {yarn_frequencies(base, rotary.width, yarn)};
    rotary.factor = rotary.factor * yarn_magnitude(factor);
  } else if (type == "linear") {
    for (Enclosure& frequency : rotary.frequencies[0]) frequency /= Enclosure(factor);
  } else if (type != "none" && type != "longrope") {
    view.unsupported("the rope type " + type + " is not known");
  }
  const std::vector<Enclosure> unscaled = rotary.frequencies[0];
  if (view.has("rope_freqs.weight")) rotary.frequencies = {divided(view, "rope_freqs.weight", unscaled)};
  if (view.has("rope_factors_short.weight")) {
    rotary.frequencies = {divided(view, "rope_factors_short.weight", unscaled),
                          divided(view, "rope_factors_long.weight", unscaled)};
  } else if (type == "longrope") {
    view.malformed("the rope type longrope needs the tensor rope_factors_short.weight");
  }
  return rotary;
}

}  // namespace softcheck::models
