// softcheck run train: a max-retrieval network of the paper, from a seed to a safetensors file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/build_info.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "experiments/heads.hpp"
#include "experiments/training.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

struct TrainFlags {
  TrainingOptions training;
  std::string decay = "loss";
  std::string head = to_string(HeadKind::softmax);
  std::string out;
};

std::atomic<bool> interrupted = false;

// Ctrl-C between two steps: what was done is kept. The handler of before comes back with the scope.
class UntilInterrupted {
 public:
  UntilInterrupted() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
  ~UntilInterrupted() { std::signal(SIGINT, before_); }
  UntilInterrupted(const UntilInterrupted&) = delete;
  UntilInterrupted& operator=(const UntilInterrupted&) = delete;

 private:
  void (*before_)(int);
};

TrainingOptions options_of(const TrainFlags& flags) {
  TrainingOptions options = flags.training;
  try {
    options.decay = parse_decay(flags.decay);
    options.head = parse_head(flags.head);
  } catch (const std::invalid_argument& error) {
    throw InputError(usage, fmt::format("--{}", error.what()));
  }
  if (options.largest_set < options.smallest_set) {
    throw InputError(usage, fmt::format("--largest-set: need at least --smallest-set, {}, got {}", options.smallest_set,
                                        options.largest_set));
  }
  return options;
}

TrainingState begin(const std::filesystem::path& checkpoint, const TrainingOptions& options) {
  if (!std::filesystem::exists(checkpoint)) return start_training(options);
  try {
    return read_checkpoint(checkpoint, options);
  } catch (const TensorFileError& error) {
    throw InputError(malformed, fmt::format("{} (remove it to begin anew)", error.what()));
  }
}

// What a model is labelled with: everything that is needed to make it again.
std::map<std::string, std::string> origin_of(const TrainingOptions& options, float loss) {
  return {{"made_by", fmt::format("softcheck {} (commit {})", this_build().version, this_build().commit)},
          {"options", to_text(options)},
          {"instructions", training_instructions()},
          {"last_loss", fmt::format("{}", loss)}};
}

int run_training(const TrainFlags& flags) {
  const TrainingOptions options = options_of(flags);
  const std::filesystem::path out(flags.out), checkpoint(flags.out + ".checkpoint");
  if (!std::filesystem::is_directory(out.has_parent_path() ? out.parent_path() : ".")) {
    throw InputError(usage, fmt::format("--out: need a file in a folder that is there, got '{}'", flags.out));
  }
  TrainingState state = begin(checkpoint, options);
  const std::int64_t first = state.step;
  const auto start = std::chrono::steady_clock::now();
  float last_loss = 0;
  {
    const UntilInterrupted scope;
    Progress progress;
    train(state, options, [&](const TrainingState& now, float loss) {
      last_loss = loss;
      if (now.step % 100 == 0) {
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        progress.show(fmt::format("step {} of {}, loss {:.4f}, {:.0f} steps/s", now.step, options.steps, loss,
                                  static_cast<double>(now.step - first) / seconds));
      }
      if (now.step % 5000 == 0) write_checkpoint(checkpoint, now, options);
      return !interrupted.load();
    });
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (state.step < options.steps) {
    write_checkpoint(checkpoint, state, options);
    fmt::print("interrupted at step {} of {}; the same command goes on from {}\n", state.step, options.steps,
               checkpoint.string());
    return 130;  // as a shell calls a command that SIGINT ended
  }
  TensorFile model = tensors_of(state.parameters);
  model.metadata = origin_of(options, last_loss);
  write_safetensors(out, model);
  std::filesystem::remove(checkpoint);
  fmt::print("{}: {} steps, last loss {:.4f}, {:.1f} s with {} instructions ({})\n", flags.out, state.step, last_loss,
             seconds, training_instructions(), to_text(options));
  return holds;
}

}  // namespace

void add_train_run(CLI::App& run, int& exit_code) {
  CLI::App* train = run.add_subcommand("train", "Train the paper's max-retrieval network (Appendix A)");
  const auto flags = std::make_shared<TrainFlags>();
  TrainingOptions& options = flags->training;
  train->add_option("--out", flags->out, "The safetensors file to write")->type_name("FILE")->required();
  train->add_option("--seed", options.seed, "Seed of weights and sets")->capture_default_str();
  train->add_option("--steps", options.steps, "Steps of Adam")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  train->add_option("--learning-rate", options.learning_rate, "Of Adam")
      ->check(CLI::Range(1e-9, 10.0))
      ->capture_default_str();
  train->add_flag("--cosine", options.cosine_schedule, "Let the learning rate fall to 0 (else it is constant)");
  train->add_option("--decay", flags->decay, "lambda w^2 in the loss, or its half: loss, half-loss, decoupled, none")
      ->capture_default_str();
  train
      ->add_option("--head", flags->head,
                   "What turns logits into coefficients: softmax, or a way out of its dispersion")
      ->capture_default_str();
  train->add_option("--lambda", options.lambda, "Of the decay")->check(CLI::Range(0.0, 1e3))->capture_default_str();
  train->add_flag("--decay-biases", options.decay_biases, "Biases, too");
  train->add_option("--sets", options.sets_per_step, "Sets a step")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  train->add_option("--smallest-set", options.smallest_set, "Items in the smallest set")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  train->add_option("--largest-set", options.largest_set, "Items in the largest set")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  train->callback([flags, &exit_code] { exit_code = run_training(*flags); });
}

}  // namespace softcheck::cli
