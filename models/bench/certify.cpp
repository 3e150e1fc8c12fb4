// Certifying one head from weights in memory, and how that compares with a product of matrices of doubles in the same
// run: "share" is the Gram matrices' two products of d dh^2 multiplications and additions each for the query and the
// key over the head's time, against the rate of an f64 product of 512 x 512.
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <chrono>
#include <cmath>
#include <map>
#include <random>
#include <string>

#include "models/bounds/head_certificate.hpp"

namespace {

using namespace softcheck::models;
using Eigen::Index;
using Eigen::MatrixXd;

class WeightsInMemory : public Checkpoint {
 public:
  WeightsInMemory() : Checkpoint("memory", "memory", Config::parse("{}", "memory")) {}
  void draw(const std::string& name, Index rows, Index columns, double mean) {
    std::mt19937_64 random(rows * columns + static_cast<Index>(name.size()));
    std::normal_distribution<double> normal(mean, 0.1);
    values_[name] = MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
    tensors_[name] = {name, "F64", {rows, columns}};
    if (rows == 1) tensors_[name].shape = {columns};
  }
  const StoredTensor* find(std::string_view name) const override {
    const auto found = tensors_.find(std::string(name));
    return found == tensors_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const override { return {}; }
  TensorBlock read(const StoredTensor& tensor, IndexRange rows, IndexRange columns) const override {
    return {values_.at(tensor.name).block(rows.first, columns.first, rows.count, columns.count), 0};
  }

 private:
  std::map<std::string, MatrixXd> values_;
  std::map<std::string, StoredTensor> tensors_;
};

// Multiplications and additions a second of Eigen's product here and now.
double product_rate() {
  constexpr Index n = 512;
  const MatrixXd a = MatrixXd::Random(n, n);
  MatrixXd product = a * a;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    product.noalias() = a * a;
    benchmark::DoNotOptimize(product.data());
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return 4 * 2.0 * n * n * n / taken.count();
}

void certify(benchmark::State& state, NormKind kind, bool rotary) {
  const Index dh = state.range(0), d = state.range(1);
  WeightsInMemory weights;
  weights.draw("query", dh, d, 0);
  weights.draw("key", dh, d, 0);
  weights.draw("gain", 1, d, 1);
  ModelDescription model;
  model.context = 4096;
  HeadDescription head;
  head.query = {"query", {0, dh}};
  head.key = {"key", {0, dh}};
  head.input_norm = InputNorm{kind, {"gain", {0, d}}};
  if (kind == NormKind::layer_norm) {
    weights.draw("offset", 1, d, 0);
    weights.draw("query bias", 1, dh, 0);
    weights.draw("key bias.", 1, dh, 0);
    head.input_norm->offset = {"offset", {0, d}};
    head.query_bias = {"query bias", {0, dh}};
    head.key_bias = {"key bias.", {0, dh}};
  }
  head.scale = softcheck::numerics::Enclosure(1 / std::sqrt(static_cast<double>(dh)));
  if (rotary) {
    head.rotary = Rotary{dh, PlaneLayout::half_split};
    head.rotary->frequencies.emplace_back();
    for (Index p = 0; p < dh / 2; ++p) {
      head.rotary->frequencies[0].emplace_back(std::pow(10000, -2 * static_cast<double>(p) / static_cast<double>(dh)));
    }
  }
  for (auto _ : state) {
    HeadReader reader(weights);
    benchmark::DoNotOptimize(certify_head(head, model, reader, {}).spread.upper);
  }
  const double products = 4 * 2.0 * static_cast<double>(dh * dh * d);
  state.counters["share"] =
      benchmark::Counter(products / product_rate(), benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

BENCHMARK_CAPTURE(certify, layer_norm, NormKind::layer_norm, false)->Args({64, 768})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(certify, rms_rotary, NormKind::rms_norm, true)->Args({128, 4096})->Unit(benchmark::kMillisecond);
