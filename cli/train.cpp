// softcheck run train: a max-retrieval network of the paper, from a seed to a safetensors file.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "experiments/heads.hpp"
#include "experiments/network_tensors.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

struct TrainFlags {
  TrainingOptions training;
  std::string decay = "loss";
  std::string head = to_string(HeadKind::softmax);
  std::string out;
  int seeds = 0;  // 0: only the seed of --seed, to a file
};

std::atomic<bool> interrupted = false;

// While an object exists, Ctrl-C only sets a flag, so that the training ends between two steps and keeps its state. The
// destructor restores the previous handler.
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
  as_input_error<std::invalid_argument>(usage, "--", [&] {
    options.decay = parse_decay(flags.decay);
    options.head = parse_head(flags.head);
  });
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
  } catch (const models::TensorFileError& error) {
    throw InputError(malformed, fmt::format("{} (remove it to begin anew)", error.what()));
  }
}

// One network, and the file to write it to.
struct Training {
  TrainingOptions options;
  std::filesystem::path out;
};

// The progress of all threads, shown on the terminal.
class Shared {
 public:
  explicit Shared(std::int64_t steps) : steps_(steps) {}
  void step(float loss) {
    const std::lock_guard lock(mutex_);
    if (++done_ % 100 != 0) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    progress_.show(fmt::format("step {} of {}, loss {:.4f}, {:.0f} steps/s", skipped_ + done_, steps_, loss,
                               static_cast<double>(done_) / seconds));
  }
  void skip(std::int64_t steps) {
    const std::lock_guard lock(mutex_);
    skipped_ += steps;
  }

 private:
  std::mutex mutex_;
  Progress progress_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::int64_t steps_, done_ = 0, skipped_ = 0;
};

// Trains one network and writes its file, or its checkpoint after Ctrl-C. Returns a line that names the written file.
std::string train_one(const Training& training, Shared& shared) {
  const TrainingOptions& options = training.options;
  const std::filesystem::path checkpoint(training.out.string() + ".checkpoint");
  TrainingState state = begin(checkpoint, options);
  shared.skip(state.step);
  const auto start = std::chrono::steady_clock::now();
  float last_loss = 0;
  train(state, options, [&](const TrainingState& now, float loss) {
    last_loss = loss;
    shared.step(loss);
    // Not after the last step: a run that resumed there would have no loss.
    if (now.step % 5000 == 0 && now.step < options.steps) write_checkpoint(checkpoint, now, options);
    return !interrupted.load();
  });
  if (state.step < options.steps) {
    write_checkpoint(checkpoint, state, options);
    return fmt::format("interrupted at step {} of {}; the same command goes on from {}", state.step, options.steps,
                       checkpoint.string());
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  TensorFile model = tensors_of(state.parameters);
  model.metadata = training_metadata(fmt::format("softcheck {} (commit {})", this_build().version, this_build().commit),
                                     to_text(options), last_loss);
  write_safetensors(training.out, model);
  std::filesystem::remove(checkpoint);
  return fmt::format("{}: {} steps, last loss {:.4f}, {:.1f} s with {} instructions ({})", training.out.string(),
                     state.step, last_loss, seconds, training_instructions(), to_text(options));
}

// One training, to the file that --out names; with --seeds, one for each seed whose file is missing in the folder that
// --out names.
std::vector<Training> trainings_of(const TrainFlags& flags) {
  TrainingOptions options = options_of(flags);
  const std::filesystem::path out(flags.out);
  const std::filesystem::path folder = flags.seeds > 0 ? out : out.has_parent_path() ? out.parent_path() : ".";
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(
        usage, fmt::format("--out: need {}, got '{}'",
                           flags.seeds > 0 ? "a folder, for --seeds" : "a file in a folder that is there", flags.out));
  }
  if (flags.seeds == 0) return {{options, out}};
  std::vector<Training> trainings;
  for (int i = 0; i < flags.seeds; ++i, ++options.seed) {
    const std::filesystem::path file = out / fmt::format("seed-{:02}.safetensors", options.seed);
    if (!std::filesystem::exists(file)) {
      trainings.push_back({options, file});
    } else if (const std::string made = read_model(file).options; made != to_text(options)) {
      throw InputError(malformed, fmt::format("{}: made with '{}', asked for '{}' (remove it to train it anew)",
                                              file.string(), made, to_text(options)));
    }
  }
  return trainings;
}

int run_training(const TrainFlags& flags) {
  const std::vector<Training> trainings =
      as_input_error<models::TensorFileError>(malformed, "", [&] { return trainings_of(flags); });
  std::vector<std::string> lines(trainings.size());
  std::exception_ptr failure;
  {
    const UntilInterrupted scope;
    Shared shared(static_cast<std::int64_t>(trainings.size()) * flags.training.steps);
    std::mutex mutex;
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      try {
        for (std::size_t i = next++; i < trainings.size() && !interrupted; i = next++) {
          lines[i] = train_one(trainings[i], shared);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = trainings.size();
      }
    };
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(cores, trainings.size()); ++t) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  for (const std::string& line : lines) {
    if (!line.empty()) say("{}\n", line);
  }
  if (interrupted) return 130;  // a shell's code for a command that SIGINT ended
  if (trainings.empty()) say("all {} networks are in {} already\n", flags.seeds, flags.out);
  return holds;
}

}  // namespace

void add_train_run(Verb run) {
  auto [train, flags] =
      run.add_verb<TrainFlags>("train", "Train the paper's max-retrieval network (Appendix A)", run_training);
  TrainingOptions& options = flags.training;
  train.add_option("--out", flags.out, "The safetensors file to write; with --seeds, a folder", typed("FILE"),
                   required);
  train.add_option("--seed", options.seed, "Seed of weights and sets", shown);
  train.add_option("--seeds", flags.seeds, "So many networks, from --seed on, on all cores; --out is a folder",
                   within(1, 10'000));
  train.add_option("--steps", options.steps, "Steps of Adam", within<std::int64_t>(1, 1LL << 40), shown);
  train.add_option("--learning-rate", options.learning_rate, "Of Adam", within(1e-9, 10.0), shown);
  train.add_flag("--cosine", options.cosine_schedule, "Let the learning rate fall to 0 (else it is constant)");
  train.add_option("--decay", flags.decay, "lambda w^2 in the loss, or its half: loss, half-loss, decoupled, none",
                   shown);
  train.add_option("--head", flags.head, "What turns logits into coefficients: softmax, or a way out of its dispersion",
                   shown);
  train.add_option("--lambda", options.lambda, "Of the decay", within(0.0, 1e3), shown);
  train.add_flag("--decay-biases", options.decay_biases, "Biases, too");
  train.add_option("--sets", options.sets_per_step, "Sets a step", within(1, 1 << 16), shown);
  train.add_option("--smallest-set", options.smallest_set, "Items in the smallest set", within(1, 1 << 16), shown);
  train.add_option("--largest-set", options.largest_set, "Items in the largest set", within(1, 1 << 16), shown);
}

}  // namespace softcheck::cli
