#include "experiments/network_tensors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

std::string name_of(const LayerPlace& layer, const char* part) { return fmt::format("{}.{}", layer.name, part); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

}  // namespace

void put_network(TensorFile& file, const std::string& prefix, const Floats& values) {
  for (const LayerPlace& layer : layers) {
    const auto part = [&](std::size_t begin, std::size_t end) {
      return std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                values.begin() + static_cast<std::ptrdiff_t>(end));
    };
    file.tensors[prefix + name_of(layer, "weight")] = {{layer.outputs, layer.inputs},
                                                       part(layer.weights, layer.biases())};
    file.tensors[prefix + name_of(layer, "bias")] = {{layer.outputs}, part(layer.biases(), layer.end())};
  }
}

Floats NetworkTaker::all(const std::string& prefix) {
  Floats values;
  values.reserve(parameter_count);
  for (const LayerPlace& layer : layers) {
    take(prefix + name_of(layer, "weight"), {layer.outputs, layer.inputs}, values);
    take(prefix + name_of(layer, "bias"), {layer.outputs}, values);
  }
  return values;
}

void NetworkTaker::require_nothing_else() const {
  if (taken_ == file_.tensors.size()) return;
  throw models::TensorFileError(
      fmt::format("{}: need the {} tensors of the max-retrieval network, got {}", name_, taken_, file_.tensors.size()));
}

void NetworkTaker::take(const std::string& tensor, const std::vector<std::int64_t>& shape, Floats& values) {
  const auto found = file_.tensors.find(tensor);
  if (found == file_.tensors.end()) {
    throw models::TensorFileError(fmt::format("{}: need a tensor '{}', got none", name_, tensor));
  }
  if (found->second.shape != shape) {
    throw models::TensorFileError(fmt::format("{}: tensor '{}': need shape {}, got {}", name_, tensor,
                                              shape_text(shape), shape_text(found->second.shape)));
  }
  for (float value : found->second.values) {
    if (!std::isfinite(value)) {
      throw models::TensorFileError(fmt::format("{}: tensor '{}': need finite values, got {}", name_, tensor, value));
    }
    values.push_back(value);
  }
  ++taken_;
}

TensorFile tensors_of(const Floats& parameters) {
  if (parameters.size() != parameter_count) {
    throw std::invalid_argument(
        fmt::format("tensors_of: need {} parameters, got {}", parameter_count, parameters.size()));
  }
  TensorFile file;
  put_network(file, "", parameters);
  return file;
}

Floats parameters_of(const TensorFile& file, const std::string& name) {
  NetworkTaker taker(file, name);
  Floats values = taker.all("");
  taker.require_nothing_else();
  return values;
}

}  // namespace softcheck::experiments
