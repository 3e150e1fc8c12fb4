// Row statistics, varentropy and long rows' entropy against enclosures, within what the contract allows.
#include <gtest/gtest.h>

#include <cmath>

#include "numerics/rounding.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/numerics/bound_ratio.hpp"

namespace softcheck::kernel_tests {
namespace {

using numerics::Contract;
using numerics::Enclosure;
using numerics::Format;
using numerics::RowOracle;
using numerics::UpperBound;

const Contract& contract() {
  static const Contract words = numerics::parse_contract(
      "exp=1ulp sum=blocks:32 masked=nan subnormal=kept entropy=exact", Format::f32, Format::f32);
  return words;
}

std::vector<double> doubles(const std::vector<float>& row) { return {row.begin(), row.end()}; }

/// To first order, doubled: errors of sum w D^k, relative u (h + E + R (E + 2) + k A + k), and A u sum w D^(k + 1) for
/// the argument; B6 in docs/tolerances.md derives the case k = 1.
double moment_error(std::size_t n, int k, double moment, double next) {
  const double h = static_cast<double>(numerics::summation_height(contract(), n));
  const double e = contract().exp_error, a = contract().exp_argument_error;
  const double roundings = h + e + std::log2(static_cast<double>(n) + 1) * (e + 2) + k * (a + 1) + 1;  // 1: the output
  return 2 * 0x1p-24 * (roundings * moment + a * next);
}

struct Moments {
  double sum = 0, first = 0, second = 0, third = 0;

  explicit Moments(const RowOracle& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double d = row.maximum() - row.logits()[i], w = std::exp(-d);
      sum += w;
      first += w * d;
      second += w * d * d;
      third += w * d * d * d;
    }
  }
};

const std::vector<std::size_t>& lengths() {
  static const std::vector<std::size_t> list = {1, 2, 33, 896, 897, 5000};
  return list;
}

TEST(CpuStatistics, MomentsAreWithinTheirErrors) {
  for (const std::size_t n : lengths()) {
    Tensor<float> in(dtype_of<float>(), {1, static_cast<std::int64_t>(n)});
    in.set_row(0, uneven_row<float>(n));
    Tensor<float> m(dtype_of<float>(), {1}), s(dtype_of<float>(), {1}), t(dtype_of<float>(), {1}),
        u(dtype_of<float>(), {1});
    run_call("softcheck_row_statistics", {&in.view}, {&m.view, &s.view, &t.view, &u.view});
    const std::vector<double> logits = doubles(in.row(0));
    const RowOracle oracle(logits);
    const Moments about(oracle);
    using numerics::simulated::holds;
    EXPECT_EQ(m.at(0), static_cast<float>(oracle.maximum()));
    EXPECT_TRUE(holds(s.at(0), oracle.sum_minus_one(), moment_error(n, 0, about.sum - 1, about.first))) << n;
    EXPECT_TRUE(holds(t.at(0), oracle.weighted_deviation(), moment_error(n, 1, about.first, about.second))) << n;
    EXPECT_TRUE(holds(u.at(0), oracle.second_moment(), moment_error(n, 2, about.second, about.third))) << n;
  }
}

TEST(CpuStatistics, VarentropyIsWithinItsError) {
  for (const std::size_t n : lengths()) {
    const std::vector<float> row = uneven_row<float>(n);
    const std::vector<double> logits = doubles(row);
    const RowOracle oracle(logits);
    const Moments about(oracle);
    // U/S - (T/S)^2, each quotient with the errors of its sums.
    const double s = moment_error(n, 0, about.sum, about.first) / about.sum;
    const double t = moment_error(n, 1, about.first, about.second) / about.sum + about.first / about.sum * s;
    const double u = moment_error(n, 2, about.second, about.third) / about.sum + about.second / about.sum * s;
    const float got = run_row("softcheck_varentropy", dtype_of<float>(), row)[0];
    EXPECT_GE(got, 0);
    EXPECT_TRUE(numerics::simulated::holds(got, oracle.varentropy(), u + 2 * about.first / about.sum * t)) << n;
  }
}

/// Elements, the log-sum-exp and the entropy of a row against enclosures, within B2, B5 and B6.
void expect_within_the_contract(const std::vector<float>& row, double theta) {
  const Contract words = numerics::parse_contract(
      "exp=1ulp sum=blocks:32 masked=nan subnormal=kept entropy=exact lse=centred", Format::f32, Format::f32);
  const std::vector<double> logits = doubles(row);
  const RowOracle oracle(logits, theta);
  const auto about = numerics::row_statistics<UpperBound>(oracle, numerics::rescaling_count(words, logits), theta);
  const auto result = [&](const char* symbol) { return run_row(symbol, dtype_of<float>(), row, nullptr, theta); };
  const std::vector<float> softmax = result("softcheck_softmax"), logarithms = result("softcheck_log_softmax");
  using numerics::simulated::holds;
  for (std::size_t i = 0; i < row.size(); i += 1 + row.size() / 200) {
    const UpperBound deviation(std::max(oracle.deviation(i).upper_double(), 0.0));
    const numerics::Enclosure exact = oracle.softmax(i);
    const UpperBound element = numerics::softmax_error(words, about).at(deviation, UpperBound(exact.upper_double()));
    const UpperBound logarithm = numerics::log_softmax_error(words, about).at(deviation);
    EXPECT_TRUE(holds(softmax[i], exact, upper(element))) << row.size() << " " << i << " theta " << theta;
    EXPECT_TRUE(holds(logarithms[i], oracle.log_softmax(i), upper(logarithm))) << row.size() << " " << i;
  }
  const double of_lse = upper(numerics::logsumexp_error(words, about).total());
  EXPECT_TRUE(holds(result("softcheck_logsumexp")[0], oracle.logsumexp(), of_lse)) << row.size() << " theta " << theta;
  const double of_entropy = upper(numerics::entropy_error(words, about).total());
  EXPECT_TRUE(holds(result("softcheck_entropy")[0], oracle.entropy(), of_entropy)) << row.size() << " theta " << theta;
}

TEST(CpuStatistics, ResultsAreWithinTheContract) {
  for (const std::size_t n : lengths()) {
    std::vector<float> row = uneven_row<float>(n);
    for (const double theta : {1.0, 0.37}) expect_within_the_contract(row, theta);
    for (float& x : row) x = x / 16 + 40;
    expect_within_the_contract(row, 1);
  }
}

/// The entropy that adaptive softmax gives is that of the probabilities p that it gives: each is off by at most
/// (kappa + E + 2 + A (D + mean D)) u, D = beta (m - x) (B2), by which -sum p ln p moves as far as sum p |ln p + H|
/// times that, in first order; and the entropy itself by B6, where |ln p + H|, D and 1 bound the terms.
void expect_entropy_of(const std::vector<float>& p, float entropy) {
  constexpr double u = 0x1p-24, rescaled = 3, exponential = 2;
  const double height = 31 + std::ceil(std::log2(std::max<double>(static_cast<double>(p.size()) / 32, 1)));
  const double kappa = height + exponential;
  const double largest = *std::max_element(p.begin(), p.end());
  double h = 0, mean = 0, square = 0;
  for (const double x : p) {
    if (x == 0) continue;
    const double d = std::log(largest / x);
    h -= x * std::log(x);
    mean += x * d;
    square += x * d * d;
  }
  double moved = 0;
  for (const double x : p) {
    if (x == 0) continue;
    moved += x * std::abs(std::log(x) + h) * (kappa + exponential + 2 + rescaled * (std::log(largest / x) + mean));
  }
  const double own = kappa + rescaled * mean + mean * (2 * kappa + 4 + rescaled * mean) + rescaled * square + h;
  EXPECT_NEAR(entropy, h, 2 * u * (moved + own)) << p.size();  // twice: all of higher order
  EXPECT_GE(entropy, 0);
}

// softmax's second output: the same bits as the entropy of a row of one block, and within the contract of any row.
TEST(CpuStatistics, SoftmaxGivesTheEntropy) {
  for (const std::size_t n : lengths()) {
    for (const char* symbol : {"softcheck_softmax", "softcheck_adaptive_softmax"}) {
      const std::vector<float> row = uneven_row<float>(n);
      const auto columns = static_cast<std::int64_t>(n);
      Tensor<float> in(dtype_of<float>(), {1, columns}), probs(dtype_of<float>(), {1, columns}),
          entropy(dtype_of<float>(), {1});
      in.set_row(0, row);
      run_call(symbol, {&in.view}, {&probs.view, &entropy.view});
      EXPECT_TRUE(same_bits(probs.row(0), run_row(symbol, dtype_of<float>(), row))) << symbol << n;
      if (symbol != std::string("softcheck_softmax")) {
        expect_entropy_of(probs.row(0), entropy.at(0));
        continue;
      }
      const RowOracle oracle(doubles(row));
      const double bound =
          upper(numerics::entropy_error(contract(), numerics::row_statistics<UpperBound>(oracle)).total());
      EXPECT_TRUE(numerics::simulated::holds(entropy.at(0), oracle.entropy(), bound)) << n;
      if (n <= 896) {
        EXPECT_EQ(entropy.at(0), run_row("softcheck_entropy", dtype_of<float>(), row)[0]) << n;
      }
    }
  }
}

constexpr std::size_t million = std::size_t{1} << 20;

/// Rows of 2^20 logits on which sums in f32 go wrong.
std::vector<std::pair<const char*, std::vector<float>>> long_rows() {
  std::vector<float> half_ulps(million, -16.64f), spread = uneven_row<float>(million), sharp(million, -60.0f),
                                                  ascending(million), close(million);
  half_ulps[0] = 0;
  sharp[million / 2] = 0;
  for (std::size_t i = 0; i < million; ++i) {
    ascending[i] = static_cast<float>(i) * 0x1p-15f;
    close[i] = 65536 + static_cast<float>(i % 3) * 0x1p-7f;
  }
  return {{"half ulps", half_ulps}, {"spread", spread}, {"sharp", sharp},
          {"ascending", ascending}, {"close", close},   {"equal", std::vector<float>(million, 3.25f)}};
}

// The goal that the kernels were written for: f32, n = 2^20, an absolute 1e-6 nats.
TEST(CpuStatistics, TheEntropyOfAMillionLogitsIsWithinAMillionthOfANat) {
  for (const auto& [name, row] : long_rows()) {
    long double sum = 0, deviations = 0, m = row[0];
    for (const float x : row) m = std::max<long double>(m, x);
    for (const float x : row) {
      const long double w = std::exp(x - m);
      sum += w;
      deviations += w * (m - x);
    }
    const long double exact = std::log(sum) + deviations / sum;  // to 2^20 roundings of 2^-64
    const float got = run_row("softcheck_entropy", dtype_of<float>(), row)[0];
    EXPECT_LE(std::abs(got - exact), 1e-6L) << name;
    EXPECT_GE(got, 0.0f) << name;
  }
}

}  // namespace
}  // namespace softcheck::kernel_tests
