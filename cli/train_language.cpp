// softcheck run train-language: trains a small language model on CLRS-Text's algorithms, and writes it to a folder.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/run_parts.hpp"
#include "cli/signals.hpp"
#include "cli/verbs.hpp"
#include "experiments/language/language_curriculum.hpp"
#include "experiments/language/language_training.hpp"
#include "experiments/sha256.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

namespace {

constexpr int steps_of_a_line = 200;  // of loss.tsv: the mean loss since the line before or the start of the run, and
                                      // with a gate the largest open size of each algorithm

struct LanguageFlags {
  LanguageTrainingOptions training;
  std::string positions = to_string(Positions::rotary);
  std::string temperature = "plain";
  std::string weights = to_string(HeadWeights::softmax);
  std::string algorithms, from, out;
};

LanguageTrainingOptions options_of(const LanguageFlags& flags) {
  LanguageTrainingOptions options = flags.training;
  as_input_error<std::invalid_argument>(usage, "--", [&] {
    options.design.positions = parse_positions(flags.positions);
    options.design.weights = parse_head_weights(flags.weights);
    if (flags.temperature != "plain" && flags.temperature != "adaptive") {
      throw std::invalid_argument(fmt::format("temperature: need plain or adaptive, got '{}'", flags.temperature));
    }
    options.design.adaptive = flags.temperature == "adaptive";
    options.algorithms = parse_algorithms(flags.algorithms);
  });
  as_input_error<std::invalid_argument>(usage, "run train-language: ", [&] { check_design(options.design); });
  if (options.largest < options.smallest) {
    throw InputError(usage,
                     fmt::format("--largest: need at least --smallest, {}, got {}", options.smallest, options.largest));
  }
  return options;
}

// The parameters of --from, whose hash goes into the options.
Floats first_parameters(const std::string& from, LanguageTrainingOptions& options) {
  if (from.empty()) return {};
  const LanguageModel model =
      as_input_error<models::TensorFileError>(malformed, "--from: ", [&] { return read_language_model(from); });
  if (model.design.shape != options.design.shape) {
    throw InputError(usage, fmt::format("--from: {}: need the layers, width, heads and inner numbers of this training",
                                        model.options));
  }
  options.from = sha256_of_file(fs::path(from) / "model.safetensors");
  return model.parameters;
}

TrainingState begin(const fs::path& checkpoint, const LanguageTrainingOptions& options, const Floats& first) {
  if (!fs::exists(checkpoint)) return start_training(options, first);
  try {
    return read_checkpoint(checkpoint, options);
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("{} (remove it to begin anew)", error.what()));
  }
}

int run_language_training(const LanguageFlags& flags) {
  LanguageTrainingOptions options = options_of(flags);
  const Floats first_ones = first_parameters(flags.from, options);
  const fs::path folder(flags.out), checkpoint = folder / "training.checkpoint";
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw InputError(usage, fmt::format("--out: need a folder that can be made, got '{}'", flags.out));
  }
  const LanguageKernels kernels = language_kernels();
  TrainingState state = begin(checkpoint, options, first_ones);
  const std::int64_t first = state.step;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  float last_loss = 0;
  {
    const Interruption interruption;
    Progress progress;
    double recent = 0, sum = 0;
    int summed = 0;
    std::ofstream losses(folder / "loss.tsv", first == 0 ? std::ios::trunc : std::ios::app);
    train(state, options, kernels, [&](const TrainingState& now, float loss) {
      last_loss = loss;
      recent = recent == 0 ? loss : 0.95 * recent + 0.05 * loss;
      sum += loss;
      ++summed;
      if (now.step % steps_of_a_line == 0) {
        losses << fmt::format("{}\t{:.4f}{}\n", now.step, std::exchange(sum, 0) / std::exchange(summed, 0),
                              options.gate > 0 ? "\t" + Curriculum(options).open_sizes(now.nats) : "")
               << std::flush;
      }
      if (now.step % 10 == 0) {
        progress.show(fmt::format("step {} of {}, loss {:.4f}, {:.1f} steps/s", now.step, options.steps, recent,
                                  static_cast<double>(now.step - first) / seconds()));
      }
      // Not after the last step: a run that resumed there would have no loss.
      if (now.step % steps_of_a_line == 0 && now.step < options.steps) write_checkpoint(checkpoint, now, options);
      return !Interruption::requested();
    });
  }
  if (state.step < options.steps) {
    write_checkpoint(checkpoint, state, options);
    say("interrupted at step {} of {}; the same command goes on from {}\n", state.step, options.steps,
        checkpoint.string());
    return 130;  // a shell's code for a command that SIGINT ended
  }
  write_language_model(
      folder, options.design, state.parameters,
      training_metadata(fmt::format("softcheck {} (commit {})", this_build().version, this_build().commit),
                        to_text(options), last_loss));
  fs::remove(checkpoint);
  say("{}: {} steps, last loss {:.4f}, {:.1f} s with {} instructions ({})\n", (folder / "model.safetensors").string(),
      state.step - first, last_loss, seconds(), training_instructions(), to_text(options));
  return holds;
}

}  // namespace

void add_language_train_run(Verb run) {
  auto [train, flags] = run.add_verb<LanguageFlags>(
      "train-language", "Train a small language model on the texts of 13 algorithms", run_language_training);
  LanguageTrainingOptions& options = flags.training;
  LanguageShape& shape = options.design.shape;
  train.add_option("--out", flags.out, "Folder for model.safetensors and config.json, as transformers loads them",
                   typed("DIR"), required);
  train.add_option("--seed", options.seed, "Seed of weights and problems", shown);
  train.add_option("--attention", flags.weights, "Of every head: " + list_of_head_weights(true), shown);
  train.add_option("--temperature", flags.temperature, "Of every head: plain or adaptive", shown);
  train.add_option("--steps", options.steps, "Steps of AdamW", within<std::int64_t>(1, 1LL << 40), shown);
  train.add_option("--tokens", options.tokens_per_step, "Tokens of a step, at least", within(1, 1 << 20), shown);
  train.add_option("--smallest", options.smallest, "Smallest problems", within(2, 61), shown);
  train.add_option("--largest", options.largest, "Largest problems", within(2, 61), shown);
  train.add_option("--algorithms", flags.algorithms, "Algorithms of the texts, separated by commas [all]",
                   typed("LIST"));
  train.add_option("--gate", options.gate,
                   "Problems grow from --smallest to --largest, an algorithm's by one when its largest texts have less "
                   "loss than this, in nats a character; 0: all sizes at once",
                   within(0.0, 1e3), shown);
  train.add_option("--from", flags.from, "Begin with the parameters of this model of the same shape [random ones]",
                   typed("DIR"), existing);
  train.add_flag("--response-only", options.response_only, "Leave the first state out of the loss");
  train.add_option("--learning-rate", options.learning_rate, "Behind the warm-up; then it falls to 0 along a cosine",
                   within(1e-9, 10.0), shown);
  train.add_option("--cool-down", options.cool_down,
                   "Last steps, in which the learning rate falls along a line, from a constant; 0: along the cosine",
                   within<std::int64_t>(0, 1LL << 40), shown);
  train.add_option("--warm-up", options.warm_up, "Steps in which the learning rate rises",
                   within<std::int64_t>(0, 1LL << 40), shown);
  train.add_option("--decay", options.weight_decay, "AdamW's, of the matrices", within(0.0, 1e3), shown);
  train.add_option("--clip", options.clip, "Largest norm of a step's gradient", within(1e-9, 1e9), shown);
  train.add_option("--positions", flags.positions, "rotary, randomised or none", shown);
  train.add_option("--layers", shape.layers, "Layers", within(1, most_layers), shown);
  train.add_option("--width", shape.width, "Numbers of a token", within(16, 4096), shown);
  train.add_option("--heads", shape.heads, "Heads of a layer", within(1, 256), shown);
  train.add_option("--inner", shape.inner, "Numbers inside a feed-forward half", within(16, 16384), shown);
}

}  // namespace softcheck::cli
