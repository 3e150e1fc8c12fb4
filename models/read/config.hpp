#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace softcheck::models {

/// A value of a GGUF key; numbers are exact.
using ConfigValue =
    std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
                 std::vector<std::uint64_t>, std::vector<double>, std::vector<std::string>>;

/// The keys of a checkpoint: its config.json, or what a GGUF file has before its tensors ("llama.block_count").
///
/// A path names a key and those inside it: "rope_parameters.rope_theta"; GGUF keys hold dots and are flat, and the
/// whole path is tried first. A key whose value is null is absent. Every getter throws TensorFileError naming the file,
/// the key, what it needs and what it got where the value is of another kind.
class Config {
 public:
  /// text     JSON, an object, no key twice, nested at most 16 deep
  /// name     of the file, for errors
  /// throws   TensorFileError
  static Config parse(std::string_view text, const std::string& name);
  /// Flat keys, none twice.
  static Config of_values(const std::vector<std::pair<std::string, ConfigValue>>& values, const std::string& name);

  const std::string& file() const;
  bool has(const std::string& path) const;
  std::optional<std::string> text(const std::string& path) const;
  std::optional<std::int64_t> integer(const std::string& path) const;
  std::optional<double> number(const std::string& path) const;  // finite
  std::optional<bool> boolean(const std::string& path) const;
  bool has_array(const std::string& path) const;
  std::optional<std::vector<std::int64_t>> integers(const std::string& path) const;
  std::optional<std::vector<double>> numbers(const std::string& path) const;
  std::optional<std::vector<std::string>> texts(const std::string& path) const;
  /// The keys right below a path; "" has those of the whole. Empty where the path is no object.
  std::vector<std::string> keys(const std::string& path) const;

  /// The same, where the key must be there.
  std::int64_t need_integer(const std::string& path) const;
  double need_number(const std::string& path) const;

 private:
  struct Tree;
  explicit Config(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace softcheck::models
