#include "models/forward/layers.hpp"

namespace softcheck::models {
namespace {

// From the first head's rows to those of all.
Linear all_heads(MatrixPlace weights, VectorPlace bias, std::int64_t hidden) {
  weights.outputs.count = hidden;
  bias.entries.count = hidden;
  return {weights, bias};
}

}  // namespace

Block block_of_heads(const ModelDescription& model, std::int64_t layer) {
  const HeadDescription& first = model.head_list.at(static_cast<std::size_t>(layer * model.heads));
  return {.attention = first,
          .query = all_heads(first.query, first.query_bias, model.hidden),
          .key = all_heads(first.key, first.key_bias, model.hidden)};
}

Activation known_activation(CheckpointView& view, const std::string& key, const std::string& fallback) {
  const std::string name = view.text(key).value_or(fallback);
  if (const std::optional<Activation> activation = activation_named(name)) return *activation;
  view.unsupported("the key " + key + " names the activation " + name + "; " + activation_names() + " run on tokens");
}

}  // namespace softcheck::models
