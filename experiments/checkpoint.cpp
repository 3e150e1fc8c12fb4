#include <fmt/format.h>

#include <array>
#include <cmath>
#include <sstream>

#include "experiments/heads.hpp"
#include "experiments/network_files.hpp"
#include "experiments/training.hpp"

namespace softcheck::experiments {
namespace {

struct DecayWord {
  Decay decay;
  const char* word;
};
constexpr std::array<DecayWord, 4> decay_words{
    {{Decay::loss, "loss"}, {Decay::half_loss, "half-loss"}, {Decay::decoupled, "decoupled"}, {Decay::none, "none"}}};

std::string name_of(const LayerPlace& layer, const char* part) { return fmt::format("{}.{}", layer.name, part); }

void put(TensorFile& file, const std::string& prefix, const Floats& values) {
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

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + ")";
}

class Taker {
 public:
  Taker(const TensorFile& file, const std::string& name) : file_(file), name_(name) {}

  Floats all(const std::string& prefix) {
    Floats values;
    values.reserve(parameter_count);
    for (const LayerPlace& layer : layers) {
      take(prefix + name_of(layer, "weight"), {layer.outputs, layer.inputs}, values);
      take(prefix + name_of(layer, "bias"), {layer.outputs}, values);
    }
    return values;
  }

  void require_nothing_else() const {
    if (taken_ == file_.tensors.size()) return;
    throw models::TensorFileError(fmt::format("{}: need the {} tensors of the max-retrieval network, got {}", name_,
                                              taken_, file_.tensors.size()));
  }

 private:
  void take(const std::string& tensor, const std::vector<std::int64_t>& shape, Floats& values) {
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

  const TensorFile& file_;
  const std::string& name_;
  std::size_t taken_ = 0;
};

const std::string& metadata(const TensorFile& file, const std::string& key, const std::string& name) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
    throw models::TensorFileError(name + ": no '" + key + "' in its metadata: no checkpoint");
  return found->second;
}

}  // namespace

Decay parse_decay(const std::string& word) {
  for (const DecayWord& known : decay_words) {
    if (word == known.word) return known.decay;
  }
  throw std::invalid_argument("decay: need loss, half-loss, decoupled or none, got '" + word + "'");
}

std::string to_text(const TrainingOptions& options) {
  const char* decay = "";
  for (const DecayWord& known : decay_words) {
    if (options.decay == known.decay) decay = known.word;
  }
  const std::string head = options.head == HeadKind::softmax ? "" : " head=" + to_string(options.head);
  return fmt::format("seed={} steps={} rate={} schedule={} decay={} lambda={} biases={} sets={} sizes={}-{}{}",
                     options.seed, options.steps, options.learning_rate,
                     options.cosine_schedule ? "cosine" : "constant", decay, options.lambda,
                     options.decay_biases ? "decayed" : "kept", options.sets_per_step, options.smallest_set,
                     options.largest_set, head);
}

std::map<std::string, std::string> training_metadata(const std::string& made_by, const std::string& options,
                                                     float loss) {
  return {{"made_by", made_by},
          {"options", options},
          {"instructions", training_instructions()},
          {"last_loss", fmt::format("{}", loss)}};
}

TensorFile tensors_of(const Floats& parameters) {
  if (parameters.size() != parameter_count) {
    throw std::invalid_argument(
        fmt::format("tensors_of: need {} parameters, got {}", parameter_count, parameters.size()));
  }
  TensorFile file;
  put(file, "", parameters);
  return file;
}

Floats parameters_of(const TensorFile& file, const std::string& name) {
  Taker taker(file, name);
  Floats values = taker.all("");
  taker.require_nothing_else();
  return values;
}

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state, const TrainingOptions& options) {
  TensorFile file = tensors_of(state.parameters);
  put(file, "adam.first.", state.first_moment);
  put(file, "adam.second.", state.second_moment);
  std::ostringstream words;
  words << state.words;
  file.metadata = {{"options", to_text(options)}, {"step", std::to_string(state.step)}, {"words", words.str()}};
  write_safetensors(path, file);
}

TrainingState read_checkpoint(const std::filesystem::path& path, const TrainingOptions& options) {
  const TensorFile file = read_safetensors(path);
  const std::string name = path.string();
  const std::string& made_with = metadata(file, "options", name);
  if (made_with != to_text(options)) {
    throw models::TensorFileError(fmt::format("{}: made with '{}', asked for '{}'", name, made_with, to_text(options)));
  }
  TrainingState state;
  Taker taker(file, name);
  state.parameters = taker.all("");
  state.first_moment = taker.all("adam.first.");
  state.second_moment = taker.all("adam.second.");
  taker.require_nothing_else();
  std::istringstream words(metadata(file, "words", name)), step(metadata(file, "step", name));
  words >> state.words;
  step >> state.step;
  if (words.fail() || step.fail() || state.step < 0 || state.step > options.steps) {
    throw models::TensorFileError(name + ": its step or its random generator cannot be read");
  }
  return state;
}

}  // namespace softcheck::experiments
