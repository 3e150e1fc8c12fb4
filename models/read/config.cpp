#include "models/read/config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/read/file_errors.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::models {

using Json = nlohmann::json;

struct Config::Tree {
  std::string file;
  Json root;

  // The key as it stands, then through its dots; null counts as absent.
  const Json* find(const std::string& path) const {
    const Json* at = &root;
    std::string_view rest = path;
    while (true) {
      if (!at->is_object()) return nullptr;
      if (const auto whole = at->find(std::string(rest)); whole != at->end())
        return whole->is_null() ? nullptr : &*whole;
      const std::size_t dot = rest.find('.');
      if (dot == std::string_view::npos) return nullptr;
      const auto next = at->find(std::string(rest.substr(0, dot)));
      if (next == at->end()) return nullptr;
      at = &*next;
      rest.remove_prefix(dot + 1);
    }
  }

  [[noreturn]] void refuse(const std::string& path, const char* need, const Json& got) const {
    std::string text = got.dump();
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    throw TensorFileError(file + ": '" + path + "': need " + need + ", got " + text);
  }
};

namespace {

constexpr int deepest_config = 16;

bool is_finite_number(const Json& value) { return value.is_number() && std::isfinite(value.get<double>()); }

bool is_integer(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() <= INT64_MAX : value.is_number_integer();
}

}  // namespace

Config Config::parse(std::string_view text, const std::string& name) {
  Config config;
  config.tree_ = std::make_shared<const Tree>(
      Tree{name, parse_strict_object(std::string(text), name + ": the configuration", deepest_config)});
  return config;
}

const std::string& Config::file() const { return tree_->file; }

bool Config::has(const std::string& path) const { return tree_->find(path) != nullptr; }

std::optional<std::string> Config::text(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) tree_->refuse(path, "a text", *value);
  return value->get<std::string>();
}

std::optional<std::int64_t> Config::integer(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!is_integer(*value)) tree_->refuse(path, "an integer", *value);
  return value->get<std::int64_t>();
}

std::optional<double> Config::number(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!is_finite_number(*value)) tree_->refuse(path, "a finite number", *value);
  return value->get<double>();
}

std::optional<bool> Config::boolean(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) tree_->refuse(path, "true or false", *value);
  return value->get<bool>();
}

std::optional<std::vector<double>> Config::numbers(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) tree_->refuse(path, "an array of numbers", *value);
  std::vector<double> result;
  for (const Json& entry : *value) {
    if (!is_finite_number(entry)) tree_->refuse(path, "an array of finite numbers", *value);
    result.push_back(entry.get<double>());
  }
  return result;
}

std::optional<std::vector<std::string>> Config::texts(const std::string& path) const {
  const Json* value = tree_->find(path);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) tree_->refuse(path, "an array of texts", *value);
  std::vector<std::string> result;
  for (const Json& entry : *value) {
    if (!entry.is_string()) tree_->refuse(path, "an array of texts", *value);
    result.push_back(entry.get<std::string>());
  }
  return result;
}

std::vector<std::string> Config::keys(const std::string& path) const {
  const Json* value = path.empty() ? &tree_->root : tree_->find(path);
  std::vector<std::string> result;
  if (value == nullptr || !value->is_object()) return result;
  for (const auto& [key, unused] : value->items()) result.push_back(key);
  return result;
}

std::int64_t Config::need_integer(const std::string& path) const {
  const std::optional<std::int64_t> value = integer(path);
  if (!value) throw TensorFileError(tree_->file + ": need the key '" + path + "', got none");
  return *value;
}

double Config::need_number(const std::string& path) const {
  const std::optional<double> value = number(path);
  if (!value) throw TensorFileError(tree_->file + ": need the key '" + path + "', got none");
  return *value;
}

}  // namespace softcheck::models
