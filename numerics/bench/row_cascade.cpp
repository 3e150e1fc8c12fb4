#include "numerics/filter/row_cascade.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "numerics/formats/simd_target.hpp"

#if defined(SOFTCHECK_HAS_QUADMATH) && __has_include(<quadmath.h>)
#include <quadmath.h>
#define SOFTCHECK_BENCH_FLOAT128
#endif

namespace {

using softcheck::numerics::ElementTolerance;
using softcheck::numerics::Format;
using softcheck::numerics::PrecisionScope;
using softcheck::numerics::RowCascade;
using softcheck::numerics::RowJudgement;
using softcheck::numerics::RowOracle;
using softcheck::numerics::SimdTargetScope;

long double exponential(long double x) { return std::exp(x); }
#ifdef SOFTCHECK_BENCH_FLOAT128
__float128 exponential(__float128 x) { return expq(x); }
#endif

/// The softmax of a row as a judge without enclosures would compute it.
template <class Real, class T>
std::vector<Real> plain_softmax(const std::vector<T>& logits) {
  const T maximum = *std::max_element(logits.begin(), logits.end());
  std::vector<Real> p(logits.size());
  Real sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) sum += p[i] = exponential(static_cast<Real>(logits[i]) - maximum);
  for (Real& value : p) value /= sum;
  return p;
}

/// Number of elements more than one ulp of a float from the plain softmax.
template <class Real>
std::size_t plain_judge(const std::vector<float>& logits, const std::vector<float>& got) {
  const std::vector<Real> p = plain_softmax<Real>(logits);
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double near = static_cast<double>(p[i]);
    const Real difference = got[i] - p[i];
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(near), -126) - 23);
    if (difference > ulp || -difference > ulp) ++beyond;
  }
  return beyond;
}

/// A row of normal logits and its softmax rounded to a format.
template <class T>
struct Judged {
  std::vector<T> logits;
  std::vector<T> got;
};

template <class T>
Judged<T> normal_row(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<T> normal(0, 2);
  Judged<T> row;
  row.logits.resize(n);
  for (T& logit : row.logits) logit = normal(engine);
  for (long double value : plain_softmax<long double>(row.logits)) row.got.push_back(static_cast<T>(value));
  return row;
}

// Processor time, the best of a few, so that other programs on the machine do not matter.
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

/// A peer's seconds per element, measured once per length.
template <class Real>
double peer_seconds(const Judged<float>& row) {
  static std::map<std::size_t, double> known;
  const auto [entry, is_new] = known.try_emplace(row.logits.size(), 0);
  if (is_new) {
    const std::size_t rows = 1 + 65536 / row.logits.size();
    entry->second = seconds(5,
                            [&] {
                              for (std::size_t i = 0; i < rows; ++i) {
                                benchmark::DoNotOptimize(plain_judge<Real>(row.logits, row.got));
                              }
                            }) /
                    static_cast<double>(rows * row.logits.size());
  }
  return entry->second;
}

template <class T>
RowJudgement judge(const Judged<T>& row, const ElementTolerance& tolerance) {
  RowCascade cascade{std::span<const T>(row.logits)};
  return cascade.judge_softmax(row.got, tolerance);
}

void report(benchmark::State& state, const Judged<float>& row, double element_seconds) {
  state.counters["Melem/s"] = 1e-6 / element_seconds;
  state.counters["x_long_double"] = peer_seconds<long double>(row) / element_seconds;
#ifdef SOFTCHECK_BENCH_FLOAT128
  state.counters["x_float128"] = peer_seconds<__float128>(row) / element_seconds;
#endif
}

/// Judging correctly rounded floats within one ulp, on one instruction set.
void judge_floats(benchmark::State& state, const std::string& target) {
  const SimdTargetScope forced(target);
  const Judged<float> row = normal_row<float>(static_cast<std::size_t>(state.range(0)), 1);
  const ElementTolerance one = ElementTolerance::within_ulps(Format::f32, 1);
  const std::size_t rows = (std::size_t{1} << 21) / row.logits.size();
  double best = std::numeric_limits<double>::infinity();
  std::size_t slow = 0;
  for (auto _ : state) {
    best = std::min(best, seconds(1, [&] {
                      for (std::size_t i = 0; i < rows; ++i) slow += row.logits.size() - judge(row, one).counts.filter;
                    }));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows * row.logits.size()));
  report(state, row, best / static_cast<double>(rows * row.logits.size()));
  state.counters["slow"] = static_cast<double>(slow);
}

/// The same for doubles, which the filter cannot decide: times the double-double stage.
void judge_doubles(benchmark::State& state, const std::string& target) {
  const SimdTargetScope forced(target);
  const Judged<double> row = normal_row<double>(static_cast<std::size_t>(state.range(0)), 2);
  const ElementTolerance one = ElementTolerance::within_ulps(Format::f64, 1);
  const double n = static_cast<double>(row.logits.size());
  double best = std::numeric_limits<double>::infinity();
  std::size_t enclosed = 0;
  for (auto _ : state) {
    best = std::min(best, seconds(1, [&] {
                            for (int i = 0; i < 16; ++i) enclosed += judge(row, one).counts.enclosure;
                          }) / 16);
  }
  state.SetItemsProcessed(state.iterations() * 16 * state.range(0));
  state.counters["Melem/s"] = 1e-6 * n / best;
  state.counters["enclosed"] = static_cast<double>(enclosed);
}

/// Ten million different elements: how many does the filter leave to the slower stages?
void ten_million_elements(benchmark::State& state) {
  softcheck::numerics::StageCounts counts;
  for (auto _ : state) {
    for (std::uint64_t seed = 0; seed < 153; ++seed) {
      counts += judge(normal_row<float>(65536, 100 + seed), ElementTolerance::within_ulps(Format::f32, 1)).counts;
    }
  }
  state.counters["filter"] = static_cast<double>(counts.filter);
  state.counters["slow"] = static_cast<double>(counts.double_double + counts.enclosure + counts.undecided);
}

/// Every softmax value, the log-sum-exp and the entropy of a row as enclosures.
void enclosures(benchmark::State& state) {
  const PrecisionScope scope(static_cast<unsigned>(state.range(0)));
  const Judged<float> row = normal_row<float>(1024, 3);
  const std::vector<double> logits(row.logits.begin(), row.logits.end());
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    best = std::min(best, seconds(1, [&] {
                      for (int repetition = 0; repetition < 4; ++repetition) {
                        const RowOracle oracle(logits);
                        for (std::size_t i = 0; i < logits.size(); ++i) benchmark::DoNotOptimize(oracle.softmax(i));
                        benchmark::DoNotOptimize(oracle.logsumexp());
                        benchmark::DoNotOptimize(oracle.entropy());
                      }
                    }));
  }
  state.SetItemsProcessed(state.iterations() * 4096);
  report(state, row, best / 4096);
}

BENCHMARK(enclosures)->Name("oracle/bits")->Arg(64)->Arg(113)->Arg(256)->Unit(benchmark::kMillisecond);
BENCHMARK(ten_million_elements)->Name("judge_f32/ten_million")->Iterations(1)->Unit(benchmark::kMillisecond);

// One benchmark per instruction set of this machine.
const bool registered = [] {
  for (const std::string& target : softcheck::numerics::simd_targets()) {
    benchmark::RegisterBenchmark(("judge_f32/" + target).c_str(), judge_floats, target)
        ->Arg(1024)
        ->Arg(65536)
        ->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark(("judge_f64/" + target).c_str(), judge_doubles, target)
        ->Arg(1024)
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
