#include "models/report/layer_tensors.hpp"

#include <set>

namespace softcheck::models {

std::vector<std::string> tensors_of_layer(const ModelDescription& model, int layer, bool vocabulary) {
  std::set<std::string> names;
  for (const HeadDescription& head : model.head_list) {
    if (head.layer != layer) continue;
    names.insert({head.query.tensor, head.key.tensor, head.query_bias.tensor, head.key_bias.tensor, head.sink.tensor});
    for (const auto& norm : {head.input_norm, head.key_norm}) {
      if (norm) names.insert({norm->gain.tensor, norm->offset.tensor});
    }
    if (head.turned_key) names.insert({head.turned_key->matrix.tensor, head.turned_key->norm.gain.tensor});
    if (head.distance_bias) names.insert(head.distance_bias->table);
    if (head.head_norm) names.insert({head.head_norm->query_gain.tensor, head.head_norm->key_gain.tensor});
  }
  if (vocabulary && layer == 0 && model.inputs) {
    names.insert({model.inputs->tokens, model.inputs->positions, model.inputs->types});
  }
  names.erase("");  // a part that the layer does not have
  return {names.begin(), names.end()};
}

}  // namespace softcheck::models
