#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "models/architectures/description.hpp"
#include "models/architectures/view.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

/// n^(-1/2).
numerics::Enclosure inverse_root(const numerics::Enclosure& n);

/// Where the rows of each head begin in a matrix (and a bias) that has several heads' rows.
struct HeadRows {
  std::int64_t query_first = 0;
  std::int64_t query_step = 0;  // from head to head; 0: head_dim
  std::int64_t key_first = 0;
  std::int64_t key_step = 0;  // from key head to key head
};

/// Appends the heads of a layer to the model: each is as the pattern says, with its own rows of the matrices and biases
/// that the pattern names, its key head and its sink.
///
/// model      heads, key_heads and head_dim are set
/// pattern    of head 0: names of tensors and all that the layer's heads share
void add_heads(ModelDescription& model, const HeadDescription& pattern, const HeadRows& rows = {});

/// Appends a stack of layers, called name, to a model of several.
void add_part(ModelDescription& model, const std::string& name, ModelDescription part);

/// The first layer's inputs where the tables are there; none where the file has no table of tokens.
///
/// positions, types   names of their tables; empty: not added
/// places             rows of positions that items stand at
std::optional<TokenInputs> token_inputs(CheckpointView& view, const ModelDescription& model, const std::string& tokens,
                                        double epsilon, const std::string& positions = {}, IndexRange places = {},
                                        const std::string& types = {});

/// hidden / heads, which must be a whole number.
std::int64_t whole_head_dim(const CheckpointView& view, const ModelDescription& model);

/// A LayerNorm's gain and offset: NAME.weight and NAME.bias, in old files NAME.gamma and NAME.beta.
InputNorm layer_norm(CheckpointView& view, const std::string& name, std::int64_t hidden);

/// Refuses a number of key heads that does not divide the heads.
void check_groups(const CheckpointView& view, const ModelDescription& model);

/// Whether a key of any config.json changes no query and no key: what the training, the tokenizer, the output and the
/// feed-forward parts need. auto_map is one: a model is described as the architecture that its model_type names.
bool is_harmless_key(std::string_view key);

}  // namespace softcheck::models
