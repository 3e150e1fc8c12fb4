// One row of the oracle: softmax of every item, log-sum-exp and entropy, compared with long double, which encloses
// nothing.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {
namespace {

std::vector<double> normal_floats(std::size_t n) {
  std::mt19937_64 engine(20241001);
  std::normal_distribution<float> normal;
  std::vector<double> row(n);
  for (double& logit : row) logit = normal(engine);
  return row;
}

// items_per_second is elements per second.
void row_oracle(benchmark::State& state) {
  const PrecisionScope precision(static_cast<unsigned>(state.range(0)));
  const std::vector<double> logits = normal_floats(static_cast<std::size_t>(state.range(1)));
  for (auto _ : state) {
    const RowOracle row(logits);
    benchmark::DoNotOptimize(row.logsumexp());
    benchmark::DoNotOptimize(row.entropy());
    for (std::size_t i = 0; i < logits.size(); ++i) benchmark::DoNotOptimize(row.softmax(i));
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(row_oracle)->ArgNames({"bits", "n"})->ArgsProduct({{64, 113, 256}, {1024}})->Args({113, 65536});

void row_in_long_double(benchmark::State& state) {
  const std::vector<double> logits = normal_floats(static_cast<std::size_t>(state.range(0)));
  std::vector<long double> weights(logits.size());
  for (auto _ : state) {
    long double maximum = logits[0], sum = 0, weighted = 0;
    for (const double logit : logits) maximum = std::max<long double>(maximum, logit);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const long double deviation = maximum - logits[i];
      weights[i] = std::exp(-deviation);
      sum += weights[i];
      weighted += weights[i] * deviation;
    }
    for (long double& weight : weights) weight /= sum;
    long double entropy = std::log(sum) + weighted / sum, logsumexp = maximum + std::log(sum);
    benchmark::DoNotOptimize(entropy);
    benchmark::DoNotOptimize(logsumexp);
    benchmark::DoNotOptimize(weights.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(row_in_long_double)->Arg(1024);

}  // namespace
}  // namespace softcheck::numerics
