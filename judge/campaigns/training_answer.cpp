#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <system_error>

#include "experiments/evaluation.hpp"
#include "experiments/heads.hpp"
#include "experiments/language/language_evaluation.hpp"
#include "experiments/language/language_training.hpp"
#include "experiments/network_tensors.hpp"
#include "experiments/safetensors.hpp"
#include "experiments/sha256.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::proptests {

namespace fs = std::filesystem;
using experiments::LanguageKernels;
using experiments::LanguageTrainingOptions;
using experiments::TrainingOptions;
using experiments::TrainingState;
using Metrics = std::vector<std::pair<std::string, double>>;

namespace {

constexpr auto save_interval = std::chrono::seconds(1);
constexpr std::uint64_t test_seed = 1;  // for the test data; the network's seed chooses the stream

struct Trained {
  TrainingState state;
  float last_loss = 0;
  std::int64_t resumed_at = 0;
};

/// The saved state, if it can be read; else a new one.
template <class Options>
TrainingState begun(const fs::path& kept, const Options& options) {
  std::error_code unknown;
  if (kept.empty() || !fs::exists(kept, unknown)) return start_training(options);
  try {
    return read_checkpoint(kept, options);
  } catch (const models::TensorFileError&) {
    return start_training(options);  // a damaged state is trained again, like a damaged shard
  }
}

/// step     trains from a state, and calls its argument after each step
template <class Options, class Train>
Trained trained(const Options& options, const fs::path& kept, const ShardRun& run, Train step) {
  Trained result{begun(kept, options)};
  result.resumed_at = result.state.step;
  auto written = std::chrono::steady_clock::now();
  step(result.state, [&](const TrainingState& now, float loss) {
    result.last_loss = loss;
    // the last step is never saved: a run that continues there would have no loss
    if (now.step == options.steps) return true;
    const bool stop = run.interrupted && run.interrupted();
    const auto time = std::chrono::steady_clock::now();
    if (!kept.empty() && (stop || time - written >= save_interval)) {
      write_checkpoint(kept, now, options);
      written = time;
    }
    return !stop && std::isfinite(loss);
  });
  if (result.state.step < options.steps && std::isfinite(result.last_loss)) throw Interrupted();
  return result;
}

bool is_finite(const Trained& trained) {
  return std::isfinite(trained.last_loss) &&
         std::ranges::all_of(trained.state.parameters, [](float value) { return std::isfinite(value); });
}

std::map<std::string, std::string> metadata_of(const TrainingQuestion& asked, const ShardRun& run,
                                               const Trained& trained) {
  return experiments::training_metadata(fmt::format("softcheck {} (commit {})", run.version, run.commit), asked.words(),
                                        trained.last_loss);
}

double share(std::size_t part, std::size_t all) { return static_cast<double>(part) / static_cast<double>(all); }

/// Tests the network's own head on random sets: the share of correct answers, and the largest coefficient.
Metrics test_retrieval(const TrainingQuestion& asked, const TrainingOptions& options, const Trained& trained) {
  experiments::EvaluationOptions tests;
  tests.seed = test_seed;
  tests.sizes = asked.test_sizes;
  tests.sets = asked.test_sets;
  tests.items = std::numeric_limits<std::int64_t>::max();
  tests.others = {experiments::head_of(options.head)};
  Metrics metrics;
  for (const auto& size : experiments::evaluate_heads(trained.state.parameters, options.seed, tests)) {
    const auto& measures = size.heads.front();
    const auto right = std::ranges::count(measures, true, &experiments::HeadMeasure::correct);
    double largest = 0;
    for (const auto& measure : measures) largest += static_cast<double>(measure.largest);
    metrics.emplace_back(fmt::format("accuracy at {}", size.size),
                         share(static_cast<std::size_t>(right), measures.size()));
    metrics.emplace_back(fmt::format("largest coefficient at {}", size.size),
                         largest / static_cast<double>(measures.size()));
  }
  return metrics;
}

/// Tests answers that follow the true trace, over all algorithms.
Metrics test_language(const TrainingQuestion& asked, const experiments::LanguageModel& model, std::uint64_t seed,
                      const LanguageKernels& kernels) {
  experiments::LanguageEvaluationOptions tests;
  tests.seed = test_seed;
  tests.sizes = asked.test_sizes;
  tests.problems = asked.test_sets;
  const auto cells = evaluate_language(model, model.design.adaptive, seed, kernels, tests);
  Metrics metrics;
  for (const int size : asked.test_sizes) {
    std::size_t right = 0, all = 0;
    for (const experiments::LanguageCell& cell : cells) {
      if (cell.size != size) continue;
      all += cell.problems.size();
      right += static_cast<std::size_t>(std::ranges::count(cell.problems, true, &experiments::ProblemScore::answer));
    }
    if (all > 0) metrics.emplace_back(fmt::format("accuracy at {}", size), share(right, all));
  }
  return metrics;
}

ReportRow row_of(const TrainingQuestion& asked, const Trained& trained, bool finite) {
  ReportRow row;
  row.claim = "training.finite";
  row.subject = "train " + asked.words();
  row.cases = 1;
  row.verdict = finite ? ReportVerdict::pass : ReportVerdict::fail;
  row.seconds = std::numeric_limits<double>::quiet_NaN();
  if (!finite) {
    row.details = {fmt::format("step {} of {}: the loss is {}; a smaller learning-rate may help", trained.state.step,
                               asked.steps(), trained.last_loss)};
  }
  return row;
}

/// network   makes the files and metrics of a finite training
template <class MakeNetwork>
JudgedAnswer answered(const TrainingQuestion& asked, const Trained& trained, MakeNetwork make) {
  JudgedAnswer answer;
  const bool finite = is_finite(trained);
  answer.rows = {row_of(asked, trained, finite)};
  answer.resumed_at = trained.resumed_at;
  if (!finite) return answer;
  TrainedNetwork network{asked.seed(), experiments::training_instructions(), {}, {}};
  network.metrics.emplace_back("last loss", trained.last_loss);
  make(network);
  answer.network = std::move(network);
  return answer;
}

JudgedAnswer answer_of(const TrainingQuestion& asked, const TrainingOptions& options, const ShardRun& run) {
  const Trained result =
      trained(options, saved_training(asked, run), run,
              [&](TrainingState& state, const auto& watch) { experiments::train(state, options, watch); });
  return answered(asked, result, [&](TrainedNetwork& network) {
    experiments::TensorFile file = experiments::tensors_of(result.state.parameters);
    file.metadata = metadata_of(asked, run, result);
    network.files[network_file] = safetensors_bytes(file);
    for (auto& metric : test_retrieval(asked, options, result)) network.metrics.push_back(std::move(metric));
  });
}

JudgedAnswer answer_of(const TrainingQuestion& asked, const LanguageTrainingOptions& options, const ShardRun& run) {
  const LanguageKernels kernels(run.network);
  const Trained result =
      trained(options, saved_training(asked, run), run,
              [&](TrainingState& state, const auto& watch) { experiments::train(state, options, kernels, watch); });
  return answered(asked, result, [&](TrainedNetwork& network) {
    network.files = language_model_files(options.design, result.state.parameters, metadata_of(asked, run, result));
    // Test what the file holds: parameters in bf16.
    experiments::LanguageModel model{"", asked.words(), options.design, result.state.parameters};
    for (float& parameter : model.parameters) parameter = experiments::nearest_bf16(parameter);
    for (auto& metric : test_language(asked, model, options.seed, kernels))
      network.metrics.push_back(std::move(metric));
  });
}

}  // namespace

fs::path saved_training(const TrainingQuestion& asked, const ShardRun& run) {
  if (run.kept.empty()) return {};
  const std::string what =
      fmt::format("{}\n{} {} {}", asked.text(), run.version, run.commit, experiments::training_instructions());
  constexpr std::size_t digits = 16;
  return run.kept / (experiments::sha256(what).substr(0, digits) + ".checkpoint");
}

JudgedAnswer answer_of(const TrainingQuestion& asked, const ShardRun& run) {
  return std::visit([&](const auto& options) { return answer_of(asked, options, run); }, asked.options);
}

}  // namespace softcheck::proptests
