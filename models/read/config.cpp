#include "models/read/config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/read/file_errors.hpp"
#include "models/read/strict_json.hpp"

namespace softcheck::models {
namespace {

using Json = nlohmann::json;

constexpr int deepest_config = 16;

// A value in an error: a line, whatever bytes and however many it has.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t most = 80;
  return text.size() <= most ? text : text.substr(0, most) + "...";
}

// Integers count as numbers where a double holds them.
bool is_exact_number(const Json& value) {
  if (value.is_number_integer()) return std::abs(value.get<double>()) < 0x1p53;
  return value.is_number_float() && std::isfinite(value.get<double>());
}

bool is_integer(const Json& value) {
  return value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
}

bool is_text(const Json& value) { return value.is_string(); }
bool is_boolean(const Json& value) { return value.is_boolean(); }

}  // namespace

struct Config::Tree {
  std::string file;
  Json root;

  [[noreturn]] void fail(const std::string& path, const std::string& need, const Json& got) const {
    throw TensorFileError(file + ": key '" + path + "': need " + need + ", got " + shown(got));
  }

  // nullptr where the key is absent or null.
  const Json* find(const std::string& path) const { return find(root, path, path); }

  template <typename T>
  std::optional<T> value(const std::string& path, bool (*fits)(const Json&), const char* need) const {
    const Json* const found = find(path);
    if (found == nullptr) return std::nullopt;
    if (!fits(*found)) fail(path, need, *found);
    return found->get<T>();
  }

  template <typename T>
  std::optional<std::vector<T>> values(const std::string& path, bool (*fits)(const Json&), const char* need) const {
    const Json* const found = find(path);
    if (found == nullptr) return std::nullopt;
    if (!found->is_array()) fail(path, need, *found);
    for (const Json& value : *found) {
      if (!fits(value)) fail(path, need, value);
    }
    return found->get<std::vector<T>>();
  }

  template <typename T>
  T needed(const std::optional<T>& value, const std::string& path, const char* need) const {
    if (value) return *value;
    throw TensorFileError(file + ": key '" + path + "': need " + need + ", it is not there");
  }

 private:
  const Json* find(const Json& object, const std::string& rest, const std::string& path) const {
    if (object.is_null()) return nullptr;
    if (!object.is_object()) fail(path.substr(0, path.size() - rest.size() - 1), "an object", object);
    if (const auto whole = object.find(rest); whole != object.end()) return whole->is_null() ? nullptr : &*whole;
    const std::size_t dot = rest.find('.');
    if (dot == rest.npos) return nullptr;
    const auto inner = object.find(rest.substr(0, dot));
    return inner == object.end() ? nullptr : find(*inner, rest.substr(dot + 1), path);
  }
};

Config Config::parse(std::string_view text, const std::string& name) {
  Json root = parse_strict_object(std::string(text), name + ": the configuration", deepest_config);
  return Config(std::make_shared<const Tree>(Tree{name, std::move(root)}));
}

Config Config::of_values(const std::vector<std::pair<std::string, ConfigValue>>& values, const std::string& name) {
  Json root = Json::object();
  for (const auto& [key, value] : values) {
    Json& place = root[key];
    std::visit([&](const auto& held) { place = held; }, value);
  }
  return Config(std::make_shared<const Tree>(Tree{name, std::move(root)}));
}

const std::string& Config::file() const { return tree_->file; }

bool Config::has(const std::string& path) const { return tree_->find(path) != nullptr; }

std::optional<std::string> Config::text(const std::string& path) const {
  return tree_->value<std::string>(path, is_text, "a text");
}

std::optional<std::int64_t> Config::integer(const std::string& path) const {
  return tree_->value<std::int64_t>(path, is_integer, "an integer of 64 bits");
}

std::optional<double> Config::number(const std::string& path) const {
  return tree_->value<double>(path, is_exact_number, "a finite number");
}

std::optional<bool> Config::boolean(const std::string& path) const {
  return tree_->value<bool>(path, is_boolean, "true or false");
}

bool Config::has_array(const std::string& path) const {
  const Json* const found = tree_->find(path);
  return found != nullptr && found->is_array();
}

std::optional<std::vector<std::int64_t>> Config::integers(const std::string& path) const {
  return tree_->values<std::int64_t>(path, is_integer, "an array of integers of 64 bits");
}

std::optional<std::vector<double>> Config::numbers(const std::string& path) const {
  return tree_->values<double>(path, is_exact_number, "an array of finite numbers");
}

std::optional<std::vector<std::string>> Config::texts(const std::string& path) const {
  return tree_->values<std::string>(path, is_text, "an array of texts");
}

std::vector<std::string> Config::keys(const std::string& path) const {
  const Json* const found = path.empty() ? &tree_->root : tree_->find(path);
  std::vector<std::string> keys;
  if (found == nullptr || !found->is_object()) return keys;
  for (const auto& [key, value] : found->items()) keys.push_back(key);
  return keys;
}

std::int64_t Config::need_integer(const std::string& path) const {
  return tree_->needed(integer(path), path, "an integer");
}

double Config::need_number(const std::string& path) const { return tree_->needed(number(path), path, "a number"); }

}  // namespace softcheck::models
