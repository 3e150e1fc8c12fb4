#include <fmt/format.h>

#include <array>
#include <sstream>
#include <stdexcept>

#include "experiments/heads.hpp"
#include "experiments/network_tensors.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"

namespace softcheck::experiments {
namespace {

struct DecayWord {
  Decay decay;
  const char* word;
};
constexpr std::array<DecayWord, 4> decay_words{
    {{Decay::loss, "loss"}, {Decay::half_loss, "half-loss"}, {Decay::decoupled, "decoupled"}, {Decay::none, "none"}}};

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

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state, const TrainingOptions& options) {
  TensorFile file = tensors_of(state.parameters);
  put_network(file, "adam.first.", state.first_moment);
  put_network(file, "adam.second.", state.second_moment);
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
  NetworkTaker taker(file, name);
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
