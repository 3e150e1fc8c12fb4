#include "numerics/matrices/singular_value.hpp"

#include <benchmark/benchmark.h>

#include <Eigen/SVD>
#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <vector>

#ifdef SOFTCHECK_HAS_LAPACK
// Values only, workspace query and call (LAPACK Users' Guide, xGESDD).
extern "C" void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
                        const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork,
                        int* info);
#endif

namespace {

using Eigen::MatrixXd;
using softcheck::numerics::SingularValueEnclosure;

MatrixXd normal_matrix(Eigen::Index rows, Eigen::Index columns) {
  std::mt19937_64 engine(20241001);
  std::normal_distribution<double> normal;
  MatrixXd matrix(rows, columns);
  for (double& entry : matrix.reshaped()) entry = normal(engine);
  return matrix;
}

// Processor time, the best of a few: all three run on one thread, and other programs on the machine do not matter.
template <class Work>
double seconds(int repetitions, Work&& work) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

double eigen_largest(const MatrixXd& matrix) { return Eigen::BDCSVD<MatrixXd>(matrix).singularValues()[0]; }

#ifdef SOFTCHECK_HAS_LAPACK
double lapack_largest(MatrixXd matrix) {
  const int m = static_cast<int>(matrix.rows()), n = static_cast<int>(matrix.cols()), least = std::min(m, n), one = 1;
  std::vector<double> values(static_cast<std::size_t>(least)), work(1);
  std::vector<int> integers(8 * static_cast<std::size_t>(least));
  int length = -1, info = 0;
  for (int call = 0; call < 2; ++call) {
    dgesdd_("N", &m, &n, matrix.data(), &m, values.data(), nullptr, &one, nullptr, &one, work.data(), &length,
            integers.data(), &info);
    if (call == 0) length = static_cast<int>(work[0]);
    work.resize(static_cast<std::size_t>(length));
  }
  return values[0];
}
#endif

// Peers run in the same process on the same matrix; the counters are peer time / our time.
void BM_largest_singular_value(benchmark::State& state) {
  const MatrixXd matrix = normal_matrix(state.range(0), state.range(1));
  SingularValueEnclosure sigma;
  double ours = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    ours = std::min(ours, seconds(1, [&] { sigma = softcheck::numerics::largest_singular_value(matrix); }));
    benchmark::DoNotOptimize(sigma);
  }
  const int repetitions = matrix.size() < 500000 ? 3 : 1;
  double value = 0;
  state.counters["relative_width"] = sigma.relative_width();
  state.counters["eigen_ratio"] = seconds(repetitions, [&] { value = eigen_largest(matrix); }) / ours;
  benchmark::DoNotOptimize(value);
#ifdef SOFTCHECK_HAS_LAPACK
  state.counters["lapack_ratio"] = seconds(repetitions, [&] { value = lapack_largest(matrix); }) / ours;
  benchmark::DoNotOptimize(value);
#endif
}
BENCHMARK(BM_largest_singular_value)
    ->Args({64, 768})
    ->Args({128, 4096})
    ->Args({256, 256})
    ->Args({512, 512})
    ->Args({1024, 1024})
    ->Args({2048, 2048})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.2);

void BM_gram_iteration(benchmark::State& state) {
  const MatrixXd matrix = normal_matrix(state.range(0), state.range(0));
  SingularValueEnclosure sigma;
  for (auto _ : state) benchmark::DoNotOptimize(sigma = softcheck::numerics::gram_iteration(matrix));
  state.counters["relative_width"] = sigma.relative_width();
}
BENCHMARK(BM_gram_iteration)->Arg(64)->Arg(256)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
