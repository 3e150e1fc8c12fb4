// The training step and the encoding of items in every lane that this machine has, measured in turns: GFLOP/s of the
// matrix products, and the speed relative to the baseline.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"
#include "experiments/network_lane.hpp"

namespace {

using namespace softcheck::experiments;

constexpr int rounds = 15;
constexpr int sets = 128, mean_size = 10;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<const softcheck_network_lane*> lanes_here() {
  std::vector<const softcheck_network_lane*> lanes{&softcheck_network_baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) lanes.push_back(&softcheck_network_avx2);
  if (&network_lane() == &softcheck_network_avx512) lanes.push_back(&softcheck_network_avx512);
#endif
  return lanes;
}

// The least CPU time of each, taken in turns.
std::vector<double> interleaved(const std::vector<std::function<void()>>& works) {
  std::vector<double> best(works.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double start = cpu_seconds();
      works[i]();
      if (round > 0) best[i] = std::min(best[i], cpu_seconds() - start);
    }
  }
  return best;
}

// Floating-point operations of the matrix products only, forward: of an item, and of a set.
constexpr double item_products = 2.0 * (item_features * width + width * width);
constexpr double set_products = 2.0 * (width + 7.0 * width * width + class_count * width);

void training_step(benchmark::State& state) {
  RandomWords words(1);
  const Floats parameters = initial_parameters(words);
  const RetrievalSets drawn = draw_sets(mean_size, sets, words);
  Floats gradient(parameter_count);
  std::vector<std::function<void()>> works;
  for (const softcheck_network_lane* lane : lanes_here()) {
    works.push_back([&, lane] {
      lane->loss_and_gradient(parameters.data(), drawn.size, drawn.count, drawn.items.data(), drawn.queries.data(),
                              drawn.targets.data(), static_cast<int>(HeadKind::softmax), gradient.data());
    });
  }
  const double work = 3 * (sets * mean_size * item_products + sets * set_products);  // backward costs 2 of the 3
  for (auto _ : state) {
    const std::vector<double> seconds = interleaved(works);
    const std::vector<const softcheck_network_lane*> lanes = lanes_here();
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      state.counters[std::string(lanes[i]->name) + "_GFLOPs"] = work / seconds[i] * 1e-9;
      state.counters[std::string(lanes[i]->name) + "_minutes_of_100k"] = seconds[i] * 1e5 / 60;
      state.counters[std::string(lanes[i]->name) + "_x_baseline"] = seconds[0] / seconds[i];
    }
  }
}
BENCHMARK(training_step)->Iterations(1)->Unit(benchmark::kMillisecond);

void encode_items(benchmark::State& state) {
  RandomWords words(2);
  const Floats parameters = initial_parameters(words);
  const RetrievalSets drawn = draw_sets(512, 1, words);
  Floats encoded(512 * width);
  std::vector<std::function<void()>> works;
  for (const softcheck_network_lane* lane : lanes_here()) {
    works.push_back([&, lane] { lane->encode_items(parameters.data(), 512, drawn.items.data(), encoded.data()); });
  }
  for (auto _ : state) {
    const std::vector<double> seconds = interleaved(works);
    const std::vector<const softcheck_network_lane*> lanes = lanes_here();
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      state.counters[std::string(lanes[i]->name) + "_GFLOPs"] = 512 * item_products / seconds[i] * 1e-9;
      state.counters[std::string(lanes[i]->name) + "_Mitems_per_s"] = 512 / seconds[i] * 1e-6;
      state.counters[std::string(lanes[i]->name) + "_x_baseline"] = seconds[0] / seconds[i];
    }
  }
}
BENCHMARK(encode_items)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
