#include "models/architectures/heads.hpp"

#include <utility>

namespace softcheck::models {

using numerics::Enclosure;

Enclosure inverse_root(const Enclosure& n) { return Enclosure(1) / sqrt(n); }

void add_heads(ModelDescription& model, const HeadDescription& pattern, const HeadRows& rows) {
  const std::int64_t width = model.head_dim;
  for (std::int64_t head = 0; head < model.heads; ++head) {
    const std::int64_t key_head = head * model.key_heads / model.heads;
    const IndexRange query = {rows.query_first + head * (rows.query_step ? rows.query_step : width), width};
    const IndexRange key = {rows.key_first + key_head * (rows.key_step ? rows.key_step : width), width};
    HeadDescription& added = model.head_list.emplace_back(pattern);
    added.head = static_cast<int>(head);
    added.key_head = static_cast<int>(key_head);
    added.query.outputs = query;
    added.key.outputs = key;
    if (!added.query_bias.tensor.empty()) added.query_bias.entries = query;
    if (!added.key_bias.tensor.empty()) added.key_bias.entries = key;
    if (!added.sink.tensor.empty()) added.sink.entries = {head, 1};
    // A norm over all heads has a gain of its own for each; else they share one.
    if (added.head_norm && added.head_norm->query_width != width) added.head_norm->query_gain.entries = query;
    if (added.head_norm && added.head_norm->key_width != width) added.head_norm->key_gain.entries = key;
  }
}

std::optional<TokenInputs> token_inputs(CheckpointView& view, const ModelDescription& model, const std::string& tokens,
                                        double epsilon, const std::string& positions, IndexRange places,
                                        const std::string& types) {
  if (!view.has(tokens) || !(epsilon > 0)) return std::nullopt;
  if (!positions.empty() && !view.has(positions)) return std::nullopt;
  if (!types.empty() && !view.has(types)) return std::nullopt;
  const auto table = [&](const std::string& name) { return view.table(name, model.hidden); };
  const StoredTensor& rows = table(tokens);
  // transformers reads no file whose table has other rows.
  const std::int64_t vocabulary = view.count("vocab_size", rows.rows());
  if (rows.rows() != vocabulary) {
    view.malformed("the tensor " + rows.name + " must have vocab_size " + std::to_string(vocabulary) + " rows, got " +
                   std::to_string(rows.rows()));
  }
  TokenInputs inputs = {.tokens = rows.name, .position_rows = places, .epsilon = epsilon};
  if (!positions.empty()) {
    const StoredTensor& stored = table(positions);
    if (places.first + places.count > stored.rows()) {
      view.malformed("the tensor " + stored.name + " must have " + std::to_string(places.first + places.count) +
                     " rows or more, got " + std::to_string(stored.rows()));
    }
    inputs.positions = stored.name;
  }
  if (!types.empty()) inputs.types = table(types).name;
  return inputs;
}

std::int64_t whole_head_dim(const CheckpointView& view, const ModelDescription& model) {
  if (model.hidden % model.heads == 0) return model.hidden / model.heads;
  view.malformed("the hidden size " + std::to_string(model.hidden) + " must be a multiple of the " +
                 std::to_string(model.heads) + " heads");
}

InputNorm layer_norm(CheckpointView& view, const std::string& name, std::int64_t hidden) {
  const bool old = !view.has(name + ".weight") && view.has(name + ".gamma");
  return {.kind = NormKind::layer_norm,
          .gain = view.norm_vector(name + (old ? ".gamma" : ".weight"), hidden),
          .offset = view.norm_vector(name + (old ? ".beta" : ".bias"), hidden)};
}

void check_groups(const CheckpointView& view, const ModelDescription& model) {
  if (model.heads % model.key_heads == 0) return;
  view.malformed(std::to_string(model.heads) + " heads cannot share " + std::to_string(model.key_heads) + " key heads");
}

}  // namespace softcheck::models
