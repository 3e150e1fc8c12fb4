// Row statistics and varentropy, on the CPU and of the bodies for GPUs on the emulator, and the CPU's long rows'
// entropy, against enclosures, within what the contract allows.
#include <gtest/gtest.h>

#include <cmath>

#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/kernels/attention_expected.hpp"
#include "proptests/tests/kernels/version_2_call.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::kernel_tests {
namespace {

using numerics::Contract;
using numerics::Enclosure;
using numerics::Format;
using numerics::RowOracle;
using numerics::UpperBound;

const Contract& contract() {
  static const Contract words = RowKernels{"cpu", Format::f32}.contract();
  return words;
}

std::vector<double> doubles(const std::vector<float>& row) { return {row.begin(), row.end()}; }

const std::vector<std::size_t>& lengths() {
  static const std::vector<std::size_t> list = {1, 2, 33, 896, 897, 5000};
  return list;
}

class RowMoments : public testing::TestWithParam<RowKernels> {
 protected:
  static std::vector<double> uneven(std::size_t n) { return GetParam().rounded(uneven_row<double>(n)); }
  /// The results' formats that a call may ask for.
  static std::vector<Format> results() {
    const Format own = GetParam().format, wide = GetParam().wide();
    return own == wide ? std::vector{own} : std::vector{own, wide};
  }
  static std::vector<double> statistics(const RowCall& call, Format result, std::size_t count = 4) {
    std::vector<double> all;
    const auto got = GetParam().run("row_statistics", call, {1}, std::vector(count, result));
    if (!got) ADD_FAILURE() << "a call was refused";
    for (std::size_t i = 0; got && i < count; ++i) all.push_back((*got)[i][0]);
    return all;
  }
  static Moments moments_of(const RowOracle& row, double theta) {
    Moments about;
    for (const double x : row.logits()) about.add((row.maximum() - x) / theta);
    return about;
  }
  /// Of sum w D^k.
  static double error(const Moments& about, int k, double theta) {
    Contract contract = GetParam().contract();
    if (theta != 1) contract.exp_argument_error = 3;
    return moment_error(contract, about, k, about.of[k] - (k == 0 ? 1 : 0));
  }
  static double varentropy(const RowCall& call, Format result) {
    const auto got = GetParam().run("varentropy", call, {1}, {result});
    if (!got) ADD_FAILURE() << "a call was refused";
    return got ? (*got)[0][0] : -1;
  }
};

TEST_P(RowMoments, AreWithinTheirErrors) {
  for (const std::size_t n : lengths()) {
    for (const double theta : {1.0, 0.37}) {
      const std::vector<double> row = uneven(n);
      const RowOracle oracle(row, theta);
      const Moments about = moments_of(oracle, theta);
      const Enclosure exact[] = {oracle.sum_minus_one(), oracle.weighted_deviation(), oracle.second_moment()};
      for (const Format result : results()) {
        const std::vector<double> got = statistics({row, {}, {}, theta}, result);
        ASSERT_EQ(got.size(), 4U);
        EXPECT_EQ(got[0], oracle.maximum());
        for (int k = 0; k < 3; ++k) {
          const double value = got[static_cast<std::size_t>(k) + 1];
          EXPECT_TRUE(numerics::simulated::holds(value, exact[k], error(about, k, theta) + rounding_of(result, value)))
              << "k = " << k << ", n = " << n << ", theta = " << theta << ": " << value;
        }
      }
    }
  }
}

TEST_P(RowMoments, VarentropyIsWithinItsError) {
  for (const std::size_t n : lengths()) {
    for (const double theta : {1.0, 0.37}) {
      const std::vector<double> row = uneven(n);
      const RowOracle oracle(row, theta);
      const Moments about = moments_of(oracle, theta);
      // U/S - (T/S)^2, each quotient with the errors of its sums.
      const double sum = about.sum(), s = error(about, 0, theta) / sum;
      const double t = error(about, 1, theta) / sum + about.of[1] / sum * s;
      const double u = error(about, 2, theta) / sum + about.of[2] / sum * s;
      for (const Format result : results()) {
        const double got = varentropy({row, {}, {}, theta}, result);
        EXPECT_GE(got, 0);
        EXPECT_TRUE(numerics::simulated::holds(got, oracle.varentropy(),
                                               u + 2 * about.of[1] / sum * t + rounding_of(result, got)))
            << "n = " << n << ", theta = " << theta << ": " << got;
      }
    }
  }
  for (const Format result : results()) EXPECT_EQ(varentropy({std::vector<double>(950, 3)}, result), 0);
}

TEST_P(RowMoments, OfRowsWithoutASoftmax) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> empty = {-infinity, -1, 0, 0};
  for (const Format result : results()) {
    const RowCall all_masked{uneven(950), std::vector<std::uint8_t>(950, 0)}, hidden{std::vector(950, -infinity)};
    for (const RowCall& call : {RowCall{}, hidden, all_masked}) {
      EXPECT_EQ(statistics(call, result), empty);
      EXPECT_TRUE(std::isnan(varentropy(call, result))) << call.logits.size() << " logits";
    }
    for (const double bad : {nan, infinity}) {
      for (const std::size_t at : {0U, 500U, 949U}) {
        RowCall call{uneven(950), std::vector<std::uint8_t>(950, 1)};
        call.visible[at] = 0;
        const std::vector<double> without = statistics(call, result);
        call.logits[at] = bad;
        EXPECT_EQ(statistics(call, result), without) << "masked, " << at;
        call.visible[at] = 1;
        for (const double value : statistics(call, result)) EXPECT_TRUE(std::isnan(value)) << bad << " at " << at;
        EXPECT_TRUE(std::isnan(varentropy(call, result))) << bad << " at " << at;
      }
    }
  }
}

TEST_P(RowMoments, ComeInAsManyOutputsAsAreAskedFor) {
  for (const Format result : results()) {
    const std::vector<double> all = statistics({uneven(1000)}, result);
    for (const std::size_t count : {1U, 2U, 3U}) {
      EXPECT_EQ(statistics({uneven(1000)}, result, count), std::vector(all.begin(), all.begin() + count));
    }
  }
}

// Which of two zeros is the larger one depends on the machine.
TEST_P(RowMoments, AnMOfZeroHasNoSign) {
  for (const std::size_t n : {1, 2, 3, 17, 900}) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1, n}) {
      std::vector<double> row(n, -0.0);
      if (place < n) row[place] = 0;
      for (const Format result : results()) {
        EXPECT_FALSE(std::signbit(statistics({row}, result, 1)[0])) << n << ", +0 at " << place;
      }
    }
  }
}

TEST_P(RowMoments, RefuseWhatTheyDoNotKnow) {
  const RowKernels& kernels = GetParam();
  const Format own = kernels.format;
  const RowCall call{uneven(40)};
  const auto refused = [&](const char* op, const RowCall& with, const Shape& shape,
                           const std::vector<Format>& formats) { return !kernels.run(op, with, shape, formats); };
  for (const char* op : {"row_statistics", "varentropy"}) {
    EXPECT_TRUE(refused(op, call, {1}, {})) << op;
    EXPECT_TRUE(refused(op, call, {2}, {own})) << op;
    EXPECT_TRUE(refused(op, call, {1, 1}, {own})) << op;
    EXPECT_TRUE(refused(op, {uneven(40), {}, {}, 0}, {1}, {own})) << op;
    for (const Format other : {Format::f64, Format::f32, Format::f16, Format::bf16}) {
      EXPECT_EQ(refused(op, call, {1}, {other}), other != own && other != kernels.wide()) << op;
    }
  }
  EXPECT_TRUE(refused("row_statistics", call, {1}, std::vector(5, own)));
  EXPECT_TRUE(refused("varentropy", call, {1}, {own, own}));
  // Of several formats in one call the CPU's alone gives results.
  if (kernels.wide() != own) {
    EXPECT_EQ(refused("row_statistics", call, {1}, {own, kernels.wide()}), kernels.library != "cpu");
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowMoments, all_row_kernels(), name_of_kernels);

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

/// Rows through softmax, and their entropies as its second output.
template <class T>
struct WithEntropy {
  WithEntropy(const char* symbol, std::int64_t rows, const std::vector<T>& logits)
      : in(dtype_of<T>(), {rows, static_cast<std::int64_t>(logits.size()) / rows}),
        probs(in),
        entropy(dtype_of<T>(), {rows}) {
    in.set(logits);
    run_call(symbol, {&in.view}, {&probs.view, &entropy.view});
  }
  Tensor<T> in, probs, entropy;
};

// softmax's second output: the same bits as the entropy of a row of one block, and within the contract of any row.
TEST(CpuStatistics, SoftmaxGivesTheEntropy) {
  for (const std::size_t n : lengths()) {
    for (const std::string symbol : {"softcheck_softmax", "softcheck_adaptive_softmax"}) {
      const std::vector<float> row = uneven_row<float>(n);
      WithEntropy<float> got(symbol.c_str(), 1, row);
      EXPECT_TRUE(same_bits(got.probs.row(0), run_row(symbol, dtype_of<float>(), row))) << symbol << n;
      if (symbol != "softcheck_softmax") {
        expect_entropy_of(got.probs.row(0), got.entropy.at(0));
        continue;
      }
      const RowOracle oracle(doubles(row));
      const double bound =
          upper(numerics::entropy_error(contract(), numerics::row_statistics<UpperBound>(oracle)).total());
      EXPECT_TRUE(numerics::simulated::holds(got.entropy.at(0), oracle.entropy(), bound)) << n;
      if (n <= 896) {
        EXPECT_EQ(got.entropy.at(0), run_row("softcheck_entropy", dtype_of<float>(), row)[0]) << n;
      }
    }
  }
}

// Rows of few logits go through the kernel several at once.
template <class T>
void expect_each_row_alone(const char* symbol, std::int64_t rows, std::int64_t columns) {
  WithEntropy<T> all(symbol, rows, uneven_row<T>(static_cast<std::size_t>(rows * columns)));
  for (std::int64_t r = 0; r < rows; ++r) {
    WithEntropy<T> alone(symbol, 1, all.in.row(r));
    EXPECT_TRUE(same_bits(all.probs.row(r), alone.probs.row(0))) << symbol << ", row " << r << " of " << rows;
    EXPECT_EQ(all.entropy.at(r), alone.entropy.at(0))
        << symbol << ", row " << r << " of " << rows << ", " << columns << " logits";
  }
}

TEST(CpuStatistics, EachOfManyRowsHasItsOwnEntropy) {
  for (const char* symbol : {"softcheck_softmax", "softcheck_adaptive_softmax"}) {
    for (const std::int64_t rows : {2, 7, 8, 9, 33}) {
      for (const std::int64_t columns : {3, 40, 300}) {
        expect_each_row_alone<float>(symbol, rows, columns);
        expect_each_row_alone<double>(symbol, rows, columns);
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
