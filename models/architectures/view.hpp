#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// A checkpoint as one architecture sees it. It asks for configuration keys and tensors by name; finish() then refuses
/// each key, and each tensor of a layer, that it neither asked for nor knows to be harmless.
class CheckpointView {
 public:
  /// architecture   for errors and the description
  /// section        of the configuration that describes the language model: "" or "text_config"
  CheckpointView(const Checkpoint& checkpoint, std::string architecture, std::string section = "");

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const std::string& architecture() const { return architecture_; }

  /// The path of a key of the section, which from now on is known.
  std::string key(std::string_view name);
  bool has_key(std::string_view name);
  /// Whether the key stands there, if only as null.
  bool states_key(std::string_view name);
  /// A size: in 1 ... 2^31 - 1, so that a product of two is no overflow; the fallback where the key is absent.
  std::int64_t count(std::string_view name, std::optional<std::int64_t> fallback = {});
  /// The same of a key that may be an array with one size for each layer; refused where two layers differ.
  std::int64_t count_of_all_layers(std::string_view name, std::int64_t layers,
                                   std::optional<std::int64_t> fallback = {});
  /// A number of layers: at most as many as there are tensors.
  std::int64_t layer_count(std::string_view name, std::optional<std::int64_t> fallback = {});
  /// Malformed where no tensor is as long in any direction: what is made for each coordinate of a head is made before
  /// the projections' shapes are known to be right.
  void require_head_dim(std::int64_t head_dim) const;
  double number(std::string_view name, std::optional<double> fallback = {});
  std::optional<double> optional_number(std::string_view name);
  /// What a norm adds below its root; malformed where it is negative: the normalised vector then has no bound.
  double epsilon(std::string_view name, double fallback);
  bool flag(std::string_view name, bool fallback);
  std::optional<std::string> text(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);
  std::vector<double> numbers(std::string_view name);
  /// Refuses the model where a flag is set: why is the end of the sentence.
  void refuse_flag(std::string_view name, std::string_view why);

  /// Finds what stands before every tensor's name: the first prefix with which the first of a layer's names is there.
  void find_prefix(std::string_view probe);
  /// Where the layers are, behind the prefix: "encoder.layer." in "bert.encoder.layer.0.attention.self.query.weight".
  ///
  /// further   layers behind the last, which are not described; their tensors are accepted
  void layers_at(std::string path, std::int64_t layers, std::int64_t further = 0);
  std::string layer(std::int64_t layer) const;
  /// By its name behind the prefix.
  bool has(std::string_view name) const;
  /// The full name of a tensor that is now known; throws where it is not there or its shape is another.
  std::string matrix(std::string_view name, std::int64_t rows, std::int64_t columns);
  VectorPlace vector(std::string_view name, std::int64_t entries);
  std::string tensor(std::string_view name, const std::vector<std::int64_t>& shape) { return use(name, shape).name; }
  /// A matrix with however many rows.
  const StoredTensor& table(std::string_view name, std::int64_t columns);
  /// Holds a tensor that no bound depends on against the configuration: malformed where it is there with another shape.
  void hold(std::string_view name, const std::vector<std::int64_t>& shape);
  /// The same of a projection: NAME.weight and, by what the configuration says of it (none: either way), NAME.bias.
  ///
  /// outputs, inputs   0: any
  void hold_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs, std::optional<bool> bias,
                   bool transposed = false);
  /// The same of a matrix that has a row for each of what a key counts.
  void hold_rows(const std::string& name, std::string_view key);
  /// A norm's vector: a model without it is not supported.
  VectorPlace norm_vector(std::string_view name, std::int64_t entries);

  /// harmless_keys      that change no bound, besides those that every configuration may have
  /// harmless_tensors   behind "layers.0.": a name, or what stands before the others when it ends in a dot or an
  /// underscore throws   UnsupportedTensorFile naming the first other key or tensor
  void finish(std::initializer_list<std::string_view> harmless_keys,
              std::initializer_list<std::string_view> harmless_tensors);

  /// Refuses the keys right below a path of the section that were never asked for.
  void refuse_other_keys(const std::string& path, std::initializer_list<std::string_view> harmless = {}) const;

  [[noreturn]] void unsupported(const std::string& what) const;
  [[noreturn]] void malformed(const std::string& what) const;

 private:
  std::int64_t size_in_range(const std::string& path, std::int64_t value) const;
  std::vector<std::string> keys_below(const std::string& path) const;
  const StoredTensor& use(std::string_view name, const std::vector<std::int64_t>& shape);
  void refuse_tensor(const std::string& name, std::initializer_list<std::string_view> harmless) const;

  const Checkpoint& checkpoint_;
  std::string architecture_, section_, prefix_, layer_path_;
  std::int64_t layers_ = 0, further_ = 0;
  std::set<std::string> known_keys_, known_tensors_;
};

}  // namespace softcheck::models
