// softcheck run figure-2, figure-5, figure-6, figure-7, figure-9: data as CSV, pictures as SVG and PNG.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_parts.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/coefficient_maps.hpp"
#include "experiments/figures/spread_history.hpp"
#include "experiments/figures/temperature_figure.hpp"
#include "experiments/training.hpp"
#include "models/forward/network.hpp"

namespace softcheck::cli {

using namespace experiments;
using models::in_parallel;

namespace {

struct FigureFlags {
  std::string out;
  std::string models = model_folder().string();
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  CoefficientMapOptions maps;    // figures 2 and 7
  FitOptions fit;                // figure 6
  int largest = 131072;          // figure 6: the largest set of the comparison
  std::int64_t items = 1 << 18;  // figure 6: items of each size and model in the comparison
  TrainingOptions training;      // figure 9
  int points = 25;               // figure 9: number of steps shown
};

int run_entropies(const FigureFlags& flags) {
  publish_figure(entropy_of_temperature(), OutputFolder(flags.out), origin_lines("softcheck run figure-5"));
  return holds;
}

int run_maps(const std::string& name, const FigureFlags& flags) {
  std::vector<TrainedModel> models = models_in("--models", flags.models);
  models.resize(1);
  const OutputFolder folder(flags.out);
  std::string file = name;
  std::ranges::replace(file, '-', '_');
  Figure figure;
  {
    Progress progress;
    figure =
        coefficient_maps(file, models[0].parameters, flags.maps, [&](const std::string& text) { progress.show(text); });
  }
  const std::string command =
      fmt::format("softcheck run {} --seed {} --largest {}", name, flags.maps.seed, flags.maps.largest);
  publish_figure(figure, folder, origin_lines(command, hashes_of(flags.models, models)));
  return holds;
}

// Compares the fits on random sets of every size, and on sets with many similar priorities.
FitComparison compare(const std::vector<TrainedModel>& models, const TemperatureFit& pooled, const FigureFlags& flags,
                      Progress& progress) {
  EvaluationOptions options;
  options.seed = flags.fit.seed + 1;  // other sets than those of the fit
  options.items = flags.items;
  options.sizes.clear();
  for (int size = 16; size <= flags.largest; size *= 2) options.sizes.push_back(size);
  options.threads = flags.threads;
  options.others = fitted_heads(pooled);
  FitComparison comparison;
  comparison.models = measure(models, options);
  progress.show("crowded sets");
  comparison.crowded.resize(models.size());
  in_parallel(models.size(), flags.threads, [&](std::size_t m) {
    comparison.crowded[m] = measure_crowded_sizes(models[m].parameters, m + 1, pooled);
  });
  return comparison;
}

int run_fit(const FigureFlags& flags) {
  const std::vector<TrainedModel> models = models_in("--models", flags.models);
  const OutputFolder folder(flags.out);
  std::vector<TemperatureFit> fits(models.size());
  TemperatureFit pooled;
  FitComparison comparison;
  {
    Progress progress;
    progress.show("best temperatures");
    in_parallel(models.size(), flags.threads, [&](std::size_t m) {
      fits[m] = fit_temperature(models[m].name, fit_samples(models[m].parameters, m + 1, flags.fit));
    });
    pooled = pooled_fit(fits);
    comparison = compare(models, pooled, flags, progress);
  }
  say("1/theta of {} sets, H^0 first: {:.4f} (quartic), {:.4f} (line)\n", pooled.samples.size(),
      fmt::join(pooled.quartic, " "), fmt::join(pooled.line, " "));
  const std::string command = fmt::format("softcheck run figure-6 --seed {} --items {} --largest {}", flags.fit.seed,
                                          flags.items, flags.largest);
  publish_figure(temperature_figure(fits, pooled, comparison), folder,
                 origin_lines(command, hashes_of(flags.models, models)));
  return holds;
}

struct Snapshot {
  std::int64_t step = 0;
  float loss = 0;
  Floats parameters;
};

std::vector<Snapshot> snapshots_of(const TrainingOptions& options, const std::vector<std::int64_t>& steps) {
  Progress progress;
  std::vector<Snapshot> snapshots;
  TrainingState state = start_training(options);
  train(state, options, [&](const TrainingState& now, float loss) {
    if (now.step % 100 == 0) progress.show(fmt::format("step {} of {}, loss {:.4f}", now.step, options.steps, loss));
    if (now.step == steps[snapshots.size()]) snapshots.push_back({now.step, loss, now.parameters});
    return snapshots.size() < steps.size();
  });
  return snapshots;
}

// After SIGINT no partial file is left: the files are written last, and each is renamed into place.
int run_history(const FigureFlags& flags) {
  const OutputFolder folder(flags.out);
  const RetrievalSets sample = spread_sample(1);
  const std::vector<Snapshot> snapshots =
      snapshots_of(flags.training, log_spaced_steps(flags.training.steps, flags.points));
  std::vector<SpreadPoint> points(snapshots.size());
  {
    Progress progress;
    progress.show(fmt::format("Proposition 3.1 at {} steps", points.size()));
    in_parallel(points.size(), flags.threads, [&](std::size_t i) {
      points[i] = spread_point(snapshots[i].parameters, sample, snapshots[i].step, snapshots[i].loss);
    });
  }
  std::vector<numerics::Certificate> all;
  for (const SpreadPoint& point : points) {
    all.insert(all.end(), point.certificates.begin(), point.certificates.end());
  }
  const numerics::Verdict verdict = numerics::worst(all);
  say("Proposition 3.1 at {} steps, {} certificates: {}\n", points.size(), all.size(), numerics::to_string(verdict));
  const std::string command = fmt::format("softcheck run figure-9 --training-seed {} --steps {} --points {}",
                                          flags.training.seed, flags.training.steps, flags.points);
  publish_figure(
      spread_history(points), folder,
      origin_lines(command, fmt::format("{}, {} instructions", to_text(flags.training), training_instructions())));
  return verdict == numerics::Verdict::proved ? holds : verdict == numerics::Verdict::violated ? violated : undecided;
}

template <class Job>
std::pair<Verb, FigureFlags&> add_figure(Verb run, const std::string& name, const std::string& text, Job job) {
  auto [figure, flags] = run.add_verb<FigureFlags>(name, text, job);
  flags.out = "results/" + name;
  figure.add_option("--out", flags.out, "Folder for the files that are written", typed("DIR"), shown);
  return {figure, flags};
}

void add_threads(Verb figure, FigureFlags& flags) {
  figure.add_option("--threads", flags.threads, "Threads; the results do not depend on it", within(1, 1024));
}

void add_maps(Verb run, const std::string& name, bool adaptive, const std::string& text) {
  auto [figure, flags] =
      add_figure(run, name, text, [name](const FigureFlags& given) { return run_maps(name, given); });
  flags.maps.adaptive = adaptive;
  figure.add_option("--models", flags.models,
                    "Folder of trained models, *.safetensors, of which the first is looked at", typed("DIR"));
  figure.add_option("--seed", flags.maps.seed, "Seed of the sets", shown);
  figure.add_option("--largest", flags.maps.largest, "Largest set; frames are 16, 32, ... up to it",
                    within(16, 1 << 17), shown);
}

void add_fit(Verb run) {
  auto [figure, flags] =
      add_figure(run, "figure-6", "The temperature fit (Appendix F), and one that does not switch itself off", run_fit);
  figure.add_option("--models", flags.models, "Folder of trained models, *.safetensors", typed("DIR"));
  figure.add_option("--seed", flags.fit.seed,
                    "Seed of the sets that are fitted to; those of the comparison have the next", shown);
  figure.add_option("--items", flags.items, "Items of each size and model in the comparison, at most",
                    within<std::int64_t>(1, 1LL << 40), shown);
  figure.add_option("--largest", flags.largest, "Largest set of the comparison; sizes are 16, 32, ... up to it",
                    within(32, 1 << 20), shown);  // an axis has two sizes
  add_threads(figure, flags);
}

void add_history(Verb run) {
  auto [figure, flags] = add_figure(
      run, "figure-9", "Spread of the logits and Proposition 3.1's bound while a network trains", run_history);
  flags.training.steps = 10'000;
  figure.add_option("--training-seed", flags.training.seed, "Seed of weights and sets", shown);
  figure.add_option("--steps", flags.training.steps, "Steps of Adam, from the beginning",
                    within<std::int64_t>(1, 1LL << 40), shown);
  figure.add_option("--points", flags.points, "Steps that are looked at, about evenly in their logarithm",
                    within(1, 1000), shown);
  add_threads(figure, flags);
}

}  // namespace

void add_figure_runs(Verb run) {
  add_maps(run, "figure-2", false, "Heat maps of a trained head's coefficients as sets grow");
  add_figure(run, "figure-5", "Entropy of softmax of 10 logits against temperature", run_entropies);
  add_fit(run);
  add_maps(run, "figure-7", true, "The same without and with adaptive temperature");
  add_history(run);
}

}  // namespace softcheck::cli
