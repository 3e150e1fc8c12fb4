// What is the same everywhere: thresholds have the same bits on every processor and with every C library, and the same
// seed draws the same cases with every compiler.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <tuple>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "numerics/enclosures/coarse.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/filter/row_cascade.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/tests/judge/attention_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Without the C library's functions: dyadic numbers of many sizes.
std::vector<double> plain_numbers(std::size_t count, int lowest, int highest, std::uint64_t seed) {
  Draw draw(seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = draw.between(lowest, highest);
    numbers.push_back(std::ldexp(1 + static_cast<double>(draw.bits() >> 12) * 0x1p-52, exponent));
  }
  return numbers;
}

TEST(SameThresholds, FunctionsOfBoundsLieJustAboveTheirValues) {
  const PrecisionScope precision(113);
  const auto expect_just_above = [](UpperBound bound, const Enclosure& exact, double x, const char* what) {
    const Enclosure share = Enclosure(bound.value()) / exact - 1;
    EXPECT_GE(share.lower_double(), 0) << what << "(" << hex_float(x) << ")";
    EXPECT_LT(share.upper_double(), 0x1p-47) << what << "(" << hex_float(x) << ")";
  };
  for (const double x : plain_numbers(4000, -60, 10, 1)) {
    const Enclosure exact(x);
    if (x < 709) {
      expect_just_above(exp(UpperBound(x)), exp(exact), x, "exp");
      expect_just_above(expm1(UpperBound(x)), expm1(exact), x, "expm1");
    }
    expect_just_above(log1p(UpperBound(x)), log1p(exact), x, "log1p");
    if (x > 1) expect_just_above(log(UpperBound(x)), log(exact), x, "log");
    if (x < 1) expect_just_above(minus_log1m(UpperBound(x)), -log1p(-exact), x, "minus_log1m");
    const double near_one = 1 + x * 0x1p-11;
    if (near_one == 1) continue;
    expect_just_above(log(UpperBound(near_one)), log(Enclosure(near_one)), near_one, "log");
  }
  for (const double x : plain_numbers(500, 10, 1020, 2)) {
    expect_just_above(log(UpperBound(x)), log(Enclosure(x)), x, "log");
    expect_just_above(log1p(UpperBound(x)), log1p(Enclosure(x)), x, "log1p");
  }
  EXPECT_TRUE(std::isinf(exp(UpperBound(710)).value()));
  EXPECT_TRUE(std::isinf(expm1(UpperBound::infinity()).value()));
  EXPECT_TRUE(std::isinf(log(UpperBound::infinity()).value()));
  EXPECT_TRUE(std::isinf(log1p(UpperBound::infinity()).value()));
}

TEST(SameThresholds, ACoarseBoundIsNoLessAndHasFewBits) {
  for (const double x : plain_numbers(1000, -1000, 1000, 3)) {
    const double above = coarse(UpperBound(x)).value(), below = coarse_below(x);
    EXPECT_GE(above, x);
    EXPECT_LE(below, x);
    EXPECT_LE(above, x * (1 + 0x1p-31));
    EXPECT_GE(below, x * (1 - 0x1p-31));
    EXPECT_EQ(std::bit_cast<std::uint64_t>(above) & coarse_mask, 0u);
    EXPECT_EQ(coarse(UpperBound(above)).value(), above);
  }
  EXPECT_EQ(coarse(UpperBound(0)).value(), 0);
  EXPECT_EQ(coarse(UpperBound(5)).value(), 5);
  EXPECT_TRUE(std::isinf(coarse(UpperBound::infinity()).value()));
}

std::uint64_t hash_of_thresholds(Format format, const char* words) {
  const Contract contract = parse_contract(words, format, format);
  Hash hash;
  Draw draw(11);
  for (const std::size_t n : {2, 3, 7, 16, 33, 100, 257, 1000}) {
    for (int r = 0; r < 6; ++r) {
      std::vector<double> logits;
      const double size = std::ldexp(1.0, draw.between(-3, 3));
      for (std::size_t i = 0; i < n; ++i) {
        logits.push_back(round_to(format, size * (static_cast<double>(draw.below(4096)) * 0x1p-10 - 2)));
      }
      const double theta = r % 3 == 0 ? 1 : 0.75;
      const RowCascade cascade(logits, theta);
      const Statistics statistics = statistics_of(cascade.statistics(), contract, logits, theta);
      const auto softmax = softmax_error(contract, statistics);
      const auto log_softmax = log_softmax_error(contract, statistics);
      for (const UpperBound& part :
           {softmax.constant, softmax.slope, softmax.floor, log_softmax.constant, log_softmax.slope,
            contracted_entropy_error(contract, statistics).total(), logsumexp_error(contract, statistics).total()}) {
        const double bound = upper(part);
        hash.add(&bound, sizeof bound);
      }
    }
  }
  return hash.value();
}

// Pinned on x86-64 with AVX-512; thresholds differed between x86-64 and aarch64 in their last bits.
TEST(SameThresholds, OfSoftmaxLogSoftmaxAndEntropyAreTheseBits) {
  EXPECT_EQ(hash_of_thresholds(Format::f32, ""), 18374352064298344691u);
  EXPECT_EQ(hash_of_thresholds(Format::bf16, "acc=f32 exp=2ulp sum=lanes:8"), 14400219623864237218u);
  EXPECT_EQ(hash_of_thresholds(Format::f64, ""), 11329011075084887202u);
}

class TextHash : public Hash {
 public:
  // Each text ends with a byte that none holds.
  void add_text(const std::string& text) {
    add(text.data(), text.size());
    add("\xff", 1);
  }
};

template <class Case>
std::uint64_t hash_of(const rc::Gen<Case>& generator) {
  TextHash hash;
  rc::Random random(20241001);
  for (int size = 0; size < 200; ++size) hash.add_text(to_text(generator(random.split(), size / 2).value()));
  return hash.value();
}

RowMatrixOptions matrices_of(Format format) {
  RowMatrixOptions options;
  options.rows.formats = {format};
  options.rows.families.assign(kernel_row_families().begin(), kernel_row_families().end());
  options.rows.max_length = options.rows.max_edge_length = 4096;
  options.rows.auxiliaries = most_auxiliary;
  options.max_elements = 4096;
  options.nans = options.infinities = options.rows.fully_masked = true;
  return options;
}

std::uint64_t hash_of_covers(Format format) {
  TextHash hash;
  for (const RowMatrixCase& matrix : covering_matrices(matrices_of(format), false, 7).matrices) {
    hash.add_text(to_text(matrix));
  }
  return hash.value();
}

AttentionOptions attention_of(Format format) {
  AttentionOptions options;
  options.format = format;
  options.layouts = options.gradients = options.blind_queries = options.attributes = true;
  options.domain = parse_domain("window softcap sinks alibi packed causal=either", true);
  return options;
}

struct Pin {
  std::string_view what;
  std::uint64_t f32, bf16;
};

// Of g++ 12 on x86-64. The test prints the new hashes where they differ. They belong here if the draws were meant to
// change.
constexpr std::array pins{
    Pin{"rows", 0xb3d7d20bde68385c, 0xc20b0fa4d08452d2},
    Pin{"matrices", 0xb3487bf94ec077d0, 0x92b3fadd172d6c2c},
    Pin{"covers", 0x4f5bda9093ff6128, 0x358c6e4690e3d237},
    Pin{"attention", 0x31ccf653bd4a0209, 0x4c1b8ab458f6d170},
};

TEST(DrawnCases, OfOneSeedAreTheSameWithEveryCompiler) {
  std::string now;
  bool same = true;
  const auto check = [&](std::string_view what, std::uint64_t f32, std::uint64_t bf16) {
    const auto* pin = std::ranges::find(pins, what, &Pin::what);
    same = same && pin != pins.end() && pin->f32 == f32 && pin->bf16 == bf16;
    std::array<char, 120> line{};
    std::snprintf(line.data(), line.size(), "    Pin{\"%s\", 0x%016llx, 0x%016llx},\n", std::string(what).c_str(),
                  static_cast<unsigned long long>(f32), static_cast<unsigned long long>(bf16));
    now += line.data();
  };
  check("rows", hash_of(row_cases(matrices_of(Format::f32).rows)), hash_of(row_cases(matrices_of(Format::bf16).rows)));
  check("matrices", hash_of(row_matrices(matrices_of(Format::f32))), hash_of(row_matrices(matrices_of(Format::bf16))));
  check("covers", hash_of_covers(Format::f32), hash_of_covers(Format::bf16));
  check("attention", hash_of(attention_cases(attention_of(Format::f32))),
        hash_of(attention_cases(attention_of(Format::bf16))));
  EXPECT_TRUE(same) << "the hashes are now:\n" << now;
}

// Sums of products, of doubles and of long doubles: no further from the truth than they say.

constexpr std::array both{Digits::of_double, Digits::of_long_double};

// Numbers of f32 with either sign, over so many binades.
std::vector<double> numbers(std::mt19937_64& random, std::size_t count, int binades) {
  std::uniform_real_distribution<float> significand(-1, 1);
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    const int exponent = static_cast<int>(random() % static_cast<unsigned>(binades + 1)) - binades / 2;
    result.push_back(std::ldexp(significand(random), exponent));
  }
  return result;
}

Enclosure exactly(long double x) { return LongApproximation{x, 0}.enclosure(); }
bool is_less(const Enclosure& a, const Enclosure& b) { return less_equal(a, b) == Decision::proved; }

TEST(ProductSums, DotProductsLieWithinTheirErrors) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(45);
  for (const Digits digits : both) {
    for (const std::size_t n : {0, 1, 2, 3, 4, 5, 7, 64, 129, 1000}) {
      const std::vector<double> a = numbers(random, n, 40), b = numbers(random, n, 40);
      Enclosure sum(0), magnitude(0);
      for (std::size_t t = 0; t < n; ++t) {
        sum += Enclosure(a[t]) * Enclosure(b[t]);
        magnitude += abs(Enclosure(a[t]) * Enclosure(b[t]));
      }
      const DotProduct dot = dot_product(a, b, digits);
      EXPECT_TRUE(is_less(abs(exactly(dot.value) - sum), exactly(dot.error))) << n;
      EXPECT_TRUE(is_less(magnitude, exactly(dot.magnitude))) << n;
      EXPECT_LE(dot.error,
                dot.magnitude * static_cast<long double>(n + 3) * (digits == Digits::of_double ? 0x1p-52L : 0x1p-63L))
          << n;
    }
  }
}

// What the x may really be, at either end of what is known of them.
TEST(ProductSums, TotalsLieWithinTheirErrors) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(46);
  constexpr std::size_t columns = 5;
  for (const Digits digits : both) {
    for (const std::size_t terms : {0, 1, 2, 17, 300}) {
      for (const long double off : {0.0L, 0x1p-60L, 0x1p-20L}) {
        const std::vector<double> rows = numbers(random, terms * columns, 30), xs = numbers(random, terms, 30);
        ProductSums sums(columns, digits);
        for (std::size_t k = 0; k < terms; ++k) {
          const long double x = static_cast<long double>(xs[k]) / 3, error = off * std::fabs(x);
          const double size = std::fabs(xs[k]);
          sums.add({{x, error}, size, UpperBound(size * 0x1p-20), UpperBound(0x1p-149)},
                   std::span(rows).subspan(k * columns, columns));
        }
        for (std::size_t t = 0; t < columns; ++t) {
          Enclosure exact(0), size(0), floor(0);
          for (std::size_t k = 0; k < terms; ++k) {
            const long double x = static_cast<long double>(xs[k]) / 3;
            const Enclosure v(rows[k * columns + t]);
            const int sign = random() % 2 == 0 ? 1 : -1;
            exact += (exactly(x) + Enclosure(sign) * exactly(off * std::fabs(x))) * v;
            size += abs(Enclosure(xs[k]) * v);
            floor += abs(v) * Enclosure(0x1p-149);
          }
          const LongApproximation total = sums.total(t);
          EXPECT_TRUE(is_less(abs(exactly(total.value) - exact), exactly(total.error))) << terms << " " << t;
          EXPECT_TRUE(is_less(size, Enclosure(sums.size(t))));
          EXPECT_TRUE(is_less(size * Enclosure(0x1p-20), Enclosure(sums.error(t).value())));
          EXPECT_TRUE(is_less(floor, Enclosure(sums.floor(t).value())));
          EXPECT_LE(sums.size(t), size.upper_double() * 1.011 + 0x1p-1074);
          EXPECT_LE(sums.error(t).value(), size.upper_double() * 0x1p-20 * 1.0001);
        }
      }
    }
  }
}

// A number of 0 adds nothing, whatever its factor is known to be; a sum of them is 0, as nearly as can be.
TEST(ProductSums, ZerosAddNothing) {
  const std::vector<double> row{0, 2};
  for (const Digits digits : both) {
    ProductSums sums(2, digits);
    sums.add({{1e200L, std::numeric_limits<long double>::infinity()}, std::numeric_limits<double>::infinity(), {}, {}},
             row);
    sums.add({{1, 0x1p-60L}, 1, {}, {}}, row);
    EXPECT_EQ(sums.total(0).value, 0);
    EXPECT_EQ(sums.total(0).error, 0);
    EXPECT_FALSE(std::isfinite(sums.total(1).error));
    EXPECT_FALSE(std::isfinite(sums.size(1)));
  }
}

// Factors that no double holds, numbers whose products none does, and sizes that callers leave out.
TEST(ProductSums, WhatUnderflowsLiesWithinTheErrors) {
  const PrecisionScope precision(512);
  const long double third = 1 / 3.0L;
  for (const auto& [digits, x, v] : {std::tuple(Digits::of_double, third * 0x1p-1080L, 0x1p10),
                                     std::tuple(Digits::of_double, third * 0x1p-1000L, 0x1p-140),
                                     std::tuple(Digits::of_long_double, third * 0x1p-600L, 0x1p-600)}) {
    const std::vector<double> row{v};
    ProductSums sums(1, digits);
    Enclosure exact(0);
    for (const long double factor : {x, x * 0x1p-3L, x * 0x1p-60L}) {
      sums.add({{factor, 0}, 0, {}, {}}, row);
      exact += exactly(factor) * Enclosure(v);
    }
    const LongApproximation total = sums.total(0);
    EXPECT_TRUE(is_less(abs(exactly(total.value) - exact), exactly(total.error)));
    EXPECT_TRUE(is_less(exact, Enclosure(sums.size(0))));
  }
}

// Each of a hundred products rounds to 0.
TEST(ProductSums, SizesThatUnderflowAreNotLost) {
  const std::vector<double> least{0x1p-1074};
  ProductSums sums(1, Digits::of_long_double);
  for (int k = 0; k < 100; ++k) sums.add({{0.4L, 0}, 0, {}, {}}, least);
  EXPECT_GE(sums.size(0), 40 * 0x1p-1074);
}

// Each of these is added up term by term: an infinite bound of a term that is 0 adds nothing.
TEST(ProductSums, BoundsOfZerosAndInfinities) {
  const std::vector<double> zero{0, 1}, one{0, 0};
  ProductSums sums(2, Digits::of_double);
  sums.add({{1, 0}, 1, UpperBound::infinity(), UpperBound(0x1p-1070)}, zero);
  sums.add({{1, 0}, 1, UpperBound(1), UpperBound(0)}, one);
  EXPECT_EQ(sums.error(0).value(), 0);
  EXPECT_EQ(sums.error(1).value(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sums.floor(0).value(), 0);
  EXPECT_GE(sums.floor(1).value(), 0x1p-1070);
  EXPECT_LE(sums.floor(1).value(), 0x1p-1069);
}

TEST(ProductSums, ASumOfMagnitudesIsABound) {
  const PrecisionScope precision(512);
  std::mt19937_64 random(47);
  EXPECT_EQ(sum_of_magnitudes({}).value(), 0);
  EXPECT_EQ(sum_of_magnitudes(std::vector<double>{0, -0.0}).value(), 0);
  for (const std::size_t n : {1, 2, 3, 100, 1000}) {
    const std::vector<double> row = numbers(random, n, 60);
    Enclosure sum(0);
    for (const double x : row) sum += abs(Enclosure(x));
    EXPECT_TRUE(is_less(sum, Enclosure(sum_of_magnitudes(row).value()))) << n;
  }
}

// A contract that reads, computes with or writes f64 is judged in long doubles.
TEST(ProductSums, ResultsOfDoublesNeedLongDoubles) {
  const Contract narrow = parse_contract("exp=1ulp", Format::f32, Format::f32);
  EXPECT_EQ(digits_for(narrow), Digits::of_double);
  for (Format Contract::*const of : {&Contract::accumulator, &Contract::input, &Contract::output}) {
    Contract wide = narrow;
    wide.*of = Format::f64;
    EXPECT_EQ(digits_for(wide), Digits::of_long_double);
  }
}

}  // namespace
}  // namespace softcheck::proptests
