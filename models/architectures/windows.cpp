#include <string>

#include "models/architectures/decoder.hpp"

namespace softcheck::models {

std::vector<bool> windowed_layers(CheckpointView& view, std::int64_t layers,
                                  const std::function<bool(std::int64_t)>& fallback) {
  std::vector<bool> windowed;
  const std::optional<std::vector<std::string>> types = view.texts("layer_types");
  if (!types) {
    for (std::int64_t layer = 0; layer < layers; ++layer) windowed.push_back(fallback(layer));
    return windowed;
  }
  if (static_cast<std::int64_t>(types->size()) != layers) {
    view.malformed("the key layer_types must have " + std::to_string(layers) + " entries, got " +
                   std::to_string(types->size()));
  }
  for (const std::string& type : *types) {
    if (type != "full_attention" && type != "sliding_attention") {
      view.unsupported("the key layer_types has the layer type " + type);
    }
    windowed.push_back(type == "sliding_attention");
  }
  return windowed;
}

std::vector<Window> windows_of_qwen(CheckpointView& view, std::int64_t layers) {
  const bool use = view.flag("use_sliding_window", false);
  const double first = view.number("max_window_layers", 28);
  const std::vector<bool> windowed =
      windowed_layers(view, layers, [&](std::int64_t layer) { return use && static_cast<double>(layer) >= first; });
  view.key("sliding_window");
  std::vector<Window> windows(layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (!windowed[layer]) continue;
    if (!use) view.malformed("layer_types has windows where use_sliding_window is not set");
    windows[layer] = static_cast<std::uint64_t>(view.count("sliding_window", 4096));
  }
  return windows;
}

std::vector<Window> alternate_windows(CheckpointView& view, std::int64_t layers, std::int64_t period,
                                      std::int64_t fallback) {
  const std::vector<bool> windowed =
      windowed_layers(view, layers, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  const std::int64_t width = view.count("sliding_window", fallback);
  std::vector<Window> windows(layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (windowed[layer]) windows[layer] = static_cast<std::uint64_t>(width);
  }
  return windows;
}

}  // namespace softcheck::models
