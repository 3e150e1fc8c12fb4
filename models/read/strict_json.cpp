#include "models/read/strict_json.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "models/read/file_errors.hpp"

namespace softcheck::models {
namespace {

using SealedJson = nlohmann::json;

// FNV-1a of 64 bits (Fowler, Noll, Vo). Each step is a bijection of the digest, so that one changed byte always shows;
// other damage is missed once in 2^64.
std::string digest_of(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char byte : text) {
    digest ^= static_cast<unsigned char>(byte);
    digest *= 0x100000001b3U;
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(digest));
  return digits.data();
}

std::string text_of(const SealedJson& json) { return json.dump(-1, ' ', false, SealedJson::error_handler_t::replace); }

}  // namespace

nlohmann::json parse_strict_object(const std::string& text, const std::string& what, int deepest) {
  using Json = nlohmann::json;
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= deepest) {
      throw TensorFileError(what + " nests deeper than " + std::to_string(deepest) + " objects and arrays");
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      repeated = value.get<std::string>();
    }
    return true;
  };
  Json result;
  try {
    result = Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw TensorFileError(what + " is no JSON: " + error.what());
  }
  if (!repeated.empty()) throw TensorFileError(what + " has the key '" + repeated + "' twice");
  if (!result.is_object()) throw TensorFileError(what + " is no JSON object");
  return result;
}

std::string sealed_json(const SealedJson& contents, std::string_view format) {
  const std::string text = text_of(contents);
  return "{\"contents\":" + text + ",\"digest\":\"" + digest_of(text) + "\",\"format\":\"" + std::string(format) +
         "\"}\n";
}

SealedJson unsealed_json(const std::string& text, const std::string& what, std::string_view format, int deepest) {
  SealedJson file = parse_strict_object(text, what, deepest + 1);
  if (!file.contains("format") || file["format"] != format || !file.contains("contents") || !file.contains("digest")) {
    throw TensorFileError(what + ": need a file of the format '" + std::string(format) + "', got another");
  }
  if (file["digest"] != digest_of(text_of(file["contents"]))) {
    throw TensorFileError(what + ": need a file as it was written, got one that has changed since");
  }
  return std::move(file["contents"]);
}

}  // namespace softcheck::models
