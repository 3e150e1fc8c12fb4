// The cost of a row's thresholds compared with its oracle: n = 1024.

#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "numerics/rounding/rounding.hpp"

namespace {

using namespace softcheck::numerics;

std::vector<double> some_row() {
  std::vector<double> logits(1024);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = 3 * std::sin(static_cast<double>(i));
  return logits;
}

template <class T>
void softmax_threshold(benchmark::State& state) {
  const PrecisionScope scope(64);
  const RowOracle oracle(some_row());
  const Contract contract = default_contract(Format::f32, Format::f32);
  const auto row = row_statistics<T>(oracle, 5);
  for (auto _ : state) benchmark::DoNotOptimize(softmax_error(contract, row));
}

template <class T>
void entropy_threshold(benchmark::State& state) {
  const PrecisionScope scope(64);
  const RowOracle oracle(some_row());
  const Contract contract = default_contract(Format::f32, Format::f32);
  const auto row = row_statistics<T>(oracle, 5);
  for (auto _ : state) benchmark::DoNotOptimize(entropy_error(contract, row));
}

BENCHMARK(softmax_threshold<UpperBound>)->Name("rounding/softmax_error/upper_bound");
BENCHMARK(softmax_threshold<Enclosure>)->Name("rounding/softmax_error/enclosure_64");
BENCHMARK(entropy_threshold<UpperBound>)->Name("rounding/entropy_error/upper_bound");
BENCHMARK(entropy_threshold<Enclosure>)->Name("rounding/entropy_error/enclosure_64");

}  // namespace
