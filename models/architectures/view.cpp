#include "models/architectures/view.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "models/architectures/heads.hpp"

namespace softcheck::models {
namespace {

// The wrappers that transformers puts around a model, and none.
constexpr std::array prefixes = {"",
                                 "model.",
                                 "transformer.",
                                 "bert.",
                                 "roberta.",
                                 "distilbert.",
                                 "esm.",
                                 "gpt_neox.",
                                 "vit.",
                                 "model.language_model.",
                                 "language_model.model."};
// Parts of names of tensors that change what a projection is, wherever they are.
constexpr std::array foreign_parts = {"lora_",
                                      "_scale_inv",
                                      "weight_scale",
                                      "input_scale",
                                      "qweight",
                                      "qzeros",
                                      "g_idx",
                                      "absmax",
                                      "quant_state",
                                      ".SCB",
                                      "weight_packed",
                                      "alibi",
                                      "relative_attention_bias",
                                      "distance_embedding",
                                      "rel_pos"};

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

}  // namespace

CheckpointView::CheckpointView(const Checkpoint& checkpoint, std::string architecture, std::string section)
    : checkpoint_(checkpoint), architecture_(std::move(architecture)), section_(std::move(section)) {}

void CheckpointView::unsupported(const std::string& what) const {
  throw UnsupportedTensorFile(checkpoint_.path() + ": " + architecture_ + ": " + what);
}

void CheckpointView::malformed(const std::string& what) const {
  throw TensorFileError(checkpoint_.path() + ": " + architecture_ + ": " + what);
}

std::string CheckpointView::key(std::string_view name) {
  known_keys_.insert(std::string(name));
  return section_.empty() ? std::string(name) : section_ + "." + std::string(name);
}

bool CheckpointView::has_key(std::string_view name) { return checkpoint_.config().has(key(name)); }

bool CheckpointView::states_key(std::string_view name) {
  key(name);
  const std::vector<std::string> keys = keys_below(section_);
  return std::find(keys.begin(), keys.end(), name) != keys.end();
}

std::int64_t CheckpointView::count(std::string_view name, std::optional<std::int64_t> fallback) {
  const std::string path = key(name);
  const std::optional<std::int64_t> given = checkpoint_.config().integer(path);
  if (!given && fallback) return *fallback;
  return size_in_range(path, given ? *given : checkpoint_.config().need_integer(path));
}

std::int64_t CheckpointView::size_in_range(const std::string& path, std::int64_t value) const {
  if (value >= 1 && value <= std::numeric_limits<std::int32_t>::max()) return value;
  malformed(path + " must be in 1 ... 2^31 - 1, got " + std::to_string(value));
}

std::int64_t CheckpointView::count_of_all_layers(std::string_view name, std::int64_t layers,
                                                 std::optional<std::int64_t> fallback) {
  const std::string path = key(name);
  if (!checkpoint_.config().has_array(path)) return count(name, fallback);
  const std::vector<std::int64_t> values = *checkpoint_.config().integers(path);
  if (static_cast<std::int64_t>(values.size()) != layers) {
    malformed("the key " + path + " must have " + std::to_string(layers) + " numbers, one for each layer, got " +
              std::to_string(values.size()));
  }
  for (const std::int64_t value : values) {
    if (size_in_range(path, value) == values.front()) continue;
    unsupported("the key " + path + " has layers with " + std::to_string(values.front()) + " and with " +
                std::to_string(value) + ": only equal layers are described");
  }
  return values.front();
}

std::int64_t CheckpointView::layer_count(std::string_view name, std::optional<std::int64_t> fallback) {
  const std::int64_t layers = count(name, fallback);
  const auto tensors = static_cast<std::int64_t>(checkpoint_.names().size());
  if (layers > tensors) {
    malformed("the key " + std::string(name) + " is " + std::to_string(layers) + ", and there are only " +
              std::to_string(tensors) + " tensors");
  }
  return layers;
}

void CheckpointView::require_head_dim(std::int64_t head_dim) const {
  std::int64_t longest = 0;
  for (const std::string& name : checkpoint_.names()) {
    for (const std::int64_t size : checkpoint_.find(name)->shape) longest = std::max(longest, size);
  }
  if (head_dim <= longest) return;
  malformed("a head has " + std::to_string(head_dim) +
            " coordinates by the configuration, and no tensor has more than " + std::to_string(longest) +
            " rows or columns");
}

double CheckpointView::number(std::string_view name, std::optional<double> fallback) {
  const std::optional<double> given = optional_number(name);
  if (given) return *given;
  return fallback ? *fallback : checkpoint_.config().need_number(key(name));
}

std::optional<double> CheckpointView::optional_number(std::string_view name) {
  return checkpoint_.config().number(key(name));
}

double CheckpointView::epsilon(std::string_view name, double fallback) {
  const double value = number(name, fallback);
  if (value >= 0) return value;
  malformed("the key " + key(name) + " must be >= 0, got " + std::to_string(value) +
            ": a normalised vector would have no bound");
}

bool CheckpointView::flag(std::string_view name, bool fallback) {
  return checkpoint_.config().boolean(key(name)).value_or(fallback);
}

std::optional<std::string> CheckpointView::text(std::string_view name) { return checkpoint_.config().text(key(name)); }

std::optional<std::vector<std::string>> CheckpointView::texts(std::string_view name) {
  return checkpoint_.config().texts(key(name));
}

std::vector<double> CheckpointView::numbers(std::string_view name) {
  const std::optional<std::vector<double>> given = checkpoint_.config().numbers(key(name));
  if (!given) malformed("the key " + std::string(name) + " is missing");
  return *given;
}

void CheckpointView::refuse_flag(std::string_view name, std::string_view why) {
  if (flag(name, false)) unsupported("the key " + std::string(name) + " is set: " + std::string(why));
}

void CheckpointView::find_prefix(std::string_view probe) {
  for (const std::string wrapper : {"", "_orig_mod."}) {
    for (const std::string prefix : prefixes) {
      if (!checkpoint_.find(wrapper + prefix + std::string(probe))) continue;
      prefix_ = wrapper + prefix;
      return;
    }
  }
  malformed("no tensor is named " + std::string(probe) + ", with any of the usual prefixes");
}

void CheckpointView::layers_at(std::string path, std::int64_t layers, std::int64_t further) {
  layer_path_ = std::move(path);
  layers_ = layers;
  further_ = further;
}

std::string CheckpointView::layer(std::int64_t layer) const { return layer_path_ + std::to_string(layer) + "."; }

bool CheckpointView::has(std::string_view name) const {
  return checkpoint_.find(prefix_ + std::string(name)) != nullptr;
}

const StoredTensor& CheckpointView::use(std::string_view name, const std::vector<std::int64_t>& shape) {
  const StoredTensor* tensor = checkpoint_.find(prefix_ + std::string(name));
  if (!tensor) malformed("the tensor " + prefix_ + std::string(name) + " is missing; it must be " + shape_text(shape));
  if (tensor->shape != shape) {
    malformed("the tensor " + tensor->name + " must be " + shape_text(shape) + " by the configuration, got " +
              shape_text(tensor->shape));
  }
  known_tensors_.insert(tensor->name);
  return *tensor;
}

std::string CheckpointView::matrix(std::string_view name, std::int64_t rows, std::int64_t columns) {
  return use(name, {rows, columns}).name;
}

VectorPlace CheckpointView::vector(std::string_view name, std::int64_t entries) {
  return {use(name, {entries}).name, {0, entries}};
}

const StoredTensor& CheckpointView::table(std::string_view name, std::int64_t columns) {
  const StoredTensor* tensor = checkpoint_.find(prefix_ + std::string(name));
  return use(name, {tensor ? tensor->rows() : 0, columns});
}

void CheckpointView::hold(std::string_view name, const std::vector<std::int64_t>& shape) {
  if (has(name)) use(name, shape);
}

void CheckpointView::hold_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs,
                                 std::optional<bool> bias, bool transposed) {
  const StoredTensor* tensor = checkpoint_.find(prefix_ + name + ".weight");
  if (!tensor) return;
  if (outputs == 0) outputs = transposed ? tensor->columns() : tensor->rows();
  if (inputs == 0) inputs = transposed ? tensor->rows() : tensor->columns();
  matrix(name + ".weight", transposed ? inputs : outputs, transposed ? outputs : inputs);
  if (bias && has(name + ".bias") != *bias) {
    malformed("the tensor " + prefix_ + name + ".bias is " + (*bias ? "missing" : "there") +
              ", and by the configuration the projection has " + (*bias ? "a bias" : "none"));
  }
  hold(name + ".bias", {outputs});
}

void CheckpointView::hold_rows(const std::string& name, std::string_view key) {
  const StoredTensor* tensor = checkpoint_.find(prefix_ + name);
  if (!tensor) return;
  const std::int64_t rows = count(key, tensor->rows());
  if (tensor->rows() == rows) return;
  malformed("the tensor " + tensor->name + " must have " + std::string(key) + " " + std::to_string(rows) +
            " rows, got " + std::to_string(tensor->rows()));
}

VectorPlace CheckpointView::norm_vector(std::string_view name, std::int64_t entries) {
  if (!has(name)) {
    unsupported("the tensor " + prefix_ + std::string(name) + " is missing: without the norm nothing is bounded");
  }
  return vector(name, entries);
}

void CheckpointView::finish(std::initializer_list<std::string_view> harmless_keys,
                            std::initializer_list<std::string_view> harmless_tensors) {
  if (!known_keys_.contains("is_encoder_decoder")) {
    refuse_flag("is_encoder_decoder", "attention across two sequences is not described");
  }
  refuse_flag("add_cross_attention", "attention across two sequences is not described");
  if (!checkpoint_.config().keys(key("pruned_heads")).empty()) unsupported("the key pruned_heads names pruned heads");
  refuse_other_keys("", harmless_keys);
  for (const std::string& name : checkpoint_.names()) refuse_tensor(name, harmless_tensors);
}

std::vector<std::string> CheckpointView::keys_below(const std::string& path) const {
  if (checkpoint_.format() != "gguf") return checkpoint_.config().keys(path);
  // Flat: the keys of the section begin with its name and a dot.
  std::vector<std::string> below;
  for (const std::string& name : checkpoint_.config().keys("")) {
    if (name.starts_with(path + ".")) below.push_back(name.substr(path.size() + 1));
  }
  return below;
}

void CheckpointView::refuse_other_keys(const std::string& path,
                                       std::initializer_list<std::string_view> harmless) const {
  const std::string below = path.empty() ? "" : path + ".";
  const std::string section = section_.empty() ? "" : section_ + ".";
  for (const std::string& name : keys_below(path.empty() ? section_ : section + path)) {
    if (known_keys_.contains(below + name) || !checkpoint_.config().has(section + below + name)) continue;
    if (std::find(harmless.begin(), harmless.end(), name) != harmless.end()) continue;
    if (path.empty() && is_harmless_key(name)) continue;
    if (path.empty() && name == "quantization_config" && checkpoint_.applies_quantisation()) continue;
    unsupported("the key " + section + below + name + " is not known and may change the attention");
  }
}

void CheckpointView::refuse_tensor(const std::string& name, std::initializer_list<std::string_view> harmless) const {
  if (known_tensors_.contains(name)) return;
  for (const std::string_view part : foreign_parts) {
    if (name.find(part) != std::string::npos) {
      unsupported("the tensor " + name + " is of an adapter, a quantisation or relative positions");
    }
  }
  if (!name.starts_with(prefix_ + layer_path_)) return;
  const std::string rest = name.substr(prefix_.size() + layer_path_.size());
  const std::size_t dot = rest.find('.');
  const std::string number = rest.substr(0, dot);
  if (dot == std::string::npos || number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return;
  const std::int64_t place = number.size() > 9 ? layers_ + further_ : std::stoll(number);
  if (place >= layers_ && place < layers_ + further_) return;
  if (place >= layers_) {
    malformed("the configuration has " + std::to_string(layers_) + " layers, and there is a tensor " + name);
  }
  const std::string_view part = std::string_view(rest).substr(dot + 1);
  for (const std::string_view known : harmless) {
    if (known.ends_with('.') || known.ends_with('_') ? part.starts_with(known) : part == known) return;
  }
  unsupported("the tensor " + name + " is not known and may change the attention");
}

}  // namespace softcheck::models
