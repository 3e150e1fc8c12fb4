#pragma once

#include <string_view>

namespace softcheck::models {

/// Whether a key of any config.json changes no query and no key: what the training, the tokenizer, the output and the
/// feed-forward parts need. auto_map is one: a model is described as the architecture that its model_type names.
bool is_harmless_key(std::string_view key);

}  // namespace softcheck::models
