#include "models/report/layer_range.hpp"

#include <charconv>

namespace softcheck::models {

std::optional<LayerRange> parse_layers(const std::string& text) {
  LayerRange range;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, range.first);
  if (error != std::errc() || range.first < 0) return std::nullopt;
  range.last = range.first;
  if (at == end) return range;
  if (*at != '-') return std::nullopt;
  const auto [rest, second] = std::from_chars(at + 1, end, range.last);
  if (second != std::errc() || rest != end || range.last < range.first) return std::nullopt;
  return range;
}

}  // namespace softcheck::models
