// B9 against a simulated attention kernel, and UpperBound against enclosures of the same formulas.

#include "numerics/rounding/rounding_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "proptests/tests/numerics/attention_bounds.hpp"
#include "proptests/tests/numerics/row_families.hpp"

namespace softcheck::numerics {
namespace {

using simulated::Arithmetic;
using simulated::BoundShares;
using simulated::Errors;
using SimulatedAttention = simulated::Query;

SimulatedAttention random_attention(std::size_t keys, std::size_t dimension, double spread, std::uint64_t seed,
                                    Format format = Format::f32) {
  return simulated::random_query(keys, dimension, 0.125, spread, format, seed);
}

// Keys that nearly cancel against the query: scores of a few units out of products of 10^4.
SimulatedAttention cancelling_attention(std::size_t keys) {
  SimulatedAttention in = random_attention(keys, 8, 1, 5);
  for (double& q : in.query) q = 1e4f;
  for (std::size_t j = 0; j < keys; ++j) {
    for (std::size_t t = 0; t < in.dimension; t += 2) {
      double* pair = &in.key[j * in.dimension + t];
      pair[1] = static_cast<float>(-pair[0] + pair[1] * 0x1p-12);
    }
  }
  return in;
}

// One query: scores, an online softmax that rescales the output, coefficients rounded before they meet the values,
// times the contract's power of two; the values, their products with the weights and the sums of these each stored in a
// format.
double attention_output(Arithmetic& a, const SimulatedAttention& in, Format coefficients, Format values = Format::f64) {
  const auto stored = [&](double x) { return round_to(values, x); };
  const int power = a.contract().weights_power;
  const auto weighed = [&](double w) { return std::ldexp(round_to(coefficients, std::ldexp(w, power)), -power); };
  double maximum = -INFINITY;
  double sum = 0;
  double output = 0;
  for (std::size_t j = 0; j < in.keys; ++j) {
    const double score = in.score(a, j);
    if (score > maximum) {
      const double factor = j == 0 ? 0 : a.exponential(a.subtract(maximum, score));
      sum = a.multiply(sum, factor);
      output = stored(a.multiply(output, factor));
      maximum = score;
    }
    const double weight = a.exponential(a.subtract(score, maximum));
    sum = a.add(sum, weight);
    output = stored(a.add(output, stored(a.multiply(weighed(weight), stored(in.value[j])))));
  }
  return a.output(stored(a.divide(output, sum)));
}

struct Bounded {
  Enclosure exact;
  double bound;
  double without_scores;  // the same threshold with e_j = 0
};

Bounded bound_of(const Contract& contract, const SimulatedAttention& in, Format coefficients) {
  const AttentionOracle oracle(in.inputs());
  const simulated::ScoreStatistics statistics(oracle.scores(), in.keys - 1);
  const AttentionArithmetic arithmetic{in.dimension, in.scale, coefficients, in.keys - 1};
  const simulated::KeyErrors of(contract, arithmetic, in);
  const Enclosure exact = oracle.output().front();
  const auto total = [&](const std::vector<UpperBound>& errors) {
    const AttentionThreshold<UpperBound> threshold(contract, arithmetic, statistics.scores(), errors);
    return upper(threshold.column(of.values, simulated::above(abs(exact))).total());
  };
  return {exact, total(of.errors), total(std::vector<UpperBound>(in.keys))};
}

TEST(RoundingAttention, OutputsKeepTheirBoundAndNeedTheScoresErrors) {
  const PrecisionScope scope(113);
  BoundShares shares;
  const auto judge = [&](const Contract& contract, const SimulatedAttention& in, Format coefficients,
                         std::initializer_list<Errors> all_errors) {
    const Bounded bounded = bound_of(contract, in, coefficients);
    for (const Errors errors : all_errors) {
      Arithmetic arithmetic(contract, errors);
      const double got = attention_output(arithmetic, in, coefficients);
      shares.judge("B9", got, bounded.exact, bounded.bound);
      shares.judge_wrong(got, bounded.exact, bounded.without_scores);
    }
  };
  for (const char* words : {"exp=1ulp", "exp=E:50,A:3", "acc=bf16"}) {
    const Contract contract = simulated::f32_contract(words);
    for (const std::size_t keys : {1, 2, 7, 40}) {
      for (const std::size_t dimension : {1, 8, 128}) {
        for (const double spread : {0.5, 2.0, 8.0}) {
          SCOPED_TRACE(words + (" keys " + std::to_string(keys)) + " d " + std::to_string(dimension));
          const SimulatedAttention in =
              random_attention(keys, dimension, spread, keys * 1000 + dimension, contract.accumulator);
          for (const Format coefficients : {contract.accumulator, Format::bf16}) {
            judge(contract, in, coefficients, {Errors::nearest, Errors::up, Errors::down, Errors::up_below_one});
          }
        }
      }
    }
  }
  judge(default_contract(Format::f32, Format::f32), cancelling_attention(40), Format::f32, {Errors::nearest});
  shares.print("outputs");
  EXPECT_GT(shares.exceeded(), 0u);
}

TEST(RoundingAttention, WeightsOfEightBitsKeepTheirBoundAndNeedIt) {
  const PrecisionScope scope(113);
  for (const char* words : {"weights=e4m3:2^8", "weights=e4m3", "weights=e5m2:2^15", "weights=e5m2"}) {
    const Contract contract = simulated::f32_contract(words);
    BoundShares shares;
    for (const std::size_t keys : {2, 7, 40}) {
      for (const double spread : {0.5, 2.0, 4.0}) {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
          const SimulatedAttention in = random_attention(keys, 8, spread, seed);
          Arithmetic arithmetic(contract, Errors::nearest);
          const double got = attention_output(arithmetic, in, *contract.weights);
          const Bounded bounded = bound_of(contract, in, *contract.weights);
          shares.judge("B9", got, bounded.exact, bounded.bound);
          shares.judge_wrong(got, bounded.exact,
                             bound_of(simulated::f32_contract("weights=f16"), in, Format::f16).bound);
        }
      }
    }
    shares.print(words);
    EXPECT_GT(shares.exceeded(), 0u);
  }
}

TEST(RoundingAttention, StoredSumsOfValuesKeepTheirBoundAndNeedIt) {
  const PrecisionScope scope(113);
  const Contract plain = simulated::f32_contract("");
  for (const Format format : {Format::bf16, Format::f16}) {
    const std::string words = "values=" + std::string(properties(format).name);
    const Contract contract = simulated::f32_contract(words);
    BoundShares shares;
    for (const std::size_t keys : {1, 2, 7, 40}) {
      for (const double spread : {0.5, 2.0}) {
        for (std::uint64_t seed = 0; seed < 40; ++seed) {
          const SimulatedAttention in = random_attention(keys, 8, spread, seed);
          Arithmetic arithmetic(contract, Errors::nearest);
          const double got = attention_output(arithmetic, in, Format::f32, format);
          const Bounded bounded = bound_of(contract, in, Format::f32);
          shares.judge("B9", got, bounded.exact, bounded.bound);
          shares.judge_wrong(got, bounded.exact, bound_of(plain, in, Format::f32).bound);
        }
      }
    }
    shares.print(words);
    EXPECT_GT(shares.exceeded(), 0u) << words;
  }
}

TEST(RoundingAttention, SplitAndStoredScoresKeepTheirBoundsAndNeedThem) {
  const PrecisionScope scope(113);
  std::mt19937_64 engine(7);
  std::normal_distribution<float> normal;
  struct Scaled {
    const char* words;
    bool stores_factors;
    bool stores_score;
  };
  for (const Scaled& one :
       {Scaled{"scale=split", false, false}, Scaled{"scale=stored", true, false}, Scaled{"scores=bf16", false, true}}) {
    const Contract contract = parse_contract(one.words, Format::bf16, Format::f32);
    const Contract plain = parse_contract("", Format::bf16, Format::f32);
    BoundShares shares;
    for (int i = 0; i < 4000; ++i) {
      const std::size_t d = i % 2 == 0 ? 1 : 9;
      const double scale = 0.1 + i * 0x1p-12;
      const auto root = static_cast<float>(std::sqrt(scale)), whole = static_cast<float>(scale);
      float dot = 0;
      double magnitude = 0, factors = 0;
      Enclosure exact(0);
      for (std::size_t t = 0; t < d; ++t) {
        const double q = round_to(Format::bf16, normal(engine)), k = round_to(Format::bf16, normal(engine));
        magnitude += std::fabs(q * k);
        factors += std::fabs(q) + std::fabs(k);
        exact += Enclosure(scale) * Enclosure(q) * Enclosure(k);
        const auto scaled = [&](double factor) {
          if (one.stores_score) return static_cast<float>(factor);
          const float product = static_cast<float>(factor) * root;
          return one.stores_factors ? static_cast<float>(round_to(Format::bf16, product)) : product;
        };
        dot += scaled(q) * scaled(k);
      }
      const double got = one.stores_score ? round_to(Format::bf16, dot * whole) : dot;
      const AttentionArithmetic arithmetic{.dimension = d, .scale = scale, .factor_sum = factors * (1 + 0x1p-40)};
      const UpperBound dots(magnitude * (1 + 0x1p-40));
      const UpperBound size(abs(exact).upper_double());
      const auto bound = [&](const Contract& by) {
        return upper(stored_score_error(by, score_error(by, arithmetic, dots), size));
      };
      shares.judge("score", got, exact, bound(contract));
      shares.judge_wrong(got, exact, bound(plain));
    }
    shares.print(one.words);
    EXPECT_GT(shares.exceeded(), 0u) << one.words;
  }
}

TEST(RoundingScalars, UpperBoundsEncloseTheFormulasFromAbove) {
  // The quick scalar may not fall below the formula's value, and may not lose more than 2^10 roundings of a double,
  // more than the number of its operations.
  const PrecisionScope scope(256);
  const auto expect_above = [](const UpperBound& quick, const Enclosure& formula, const std::string& what) {
    if (std::isinf(upper(quick)) || std::isinf(upper(formula))) {
      EXPECT_EQ(std::isinf(upper(quick)), std::isinf(upper(formula))) << what;
      return;
    }
    EXPECT_EQ(less_equal(formula, Enclosure(quick.value())), Decision::proved) << what;
    const Enclosure ceiling = formula * (1 + Enclosure::power_of_two(10 - 53)) + Enclosure::power_of_two(-1000);
    EXPECT_EQ(less_equal(Enclosure(quick.value()), ceiling), Decision::proved) << what << " " << quick.value();
  };
  for (const char* words : {"acc=f32", "acc=bf16 sum=tree", "acc=f64 exp=E:4,A:2.35", "acc=f16 sum=lanes:8",
                            "theta=before weights=bf16 total=bf16", "lse=uncentred sum=tree"}) {
    const Contract contract = parse_contract(words, Format::f32, Format::bf16);
    for (const std::size_t n : {1, 7, 100}) {
      for (const tests::NamedRow& named : tests::row_families(n, 3)) {
        const RowOracle oracle(named.logits, 0.75);
        const auto quick = row_statistics<UpperBound>(oracle, 3, 0.75);
        const auto exact = row_statistics<Enclosure>(oracle, 3, 0.75);
        const std::string what = std::string(words) + " " + named.name;
        expect_above(sum_error(contract, quick), sum_error(contract, exact), what + " B1");
        expect_above(softmax_error(contract, quick).constant, softmax_error(contract, exact).constant, what + " B2");
        expect_above(softmax_error(contract, quick).slope, softmax_error(contract, exact).slope, what + " B2 slope");
        expect_above(row_sum_error(contract, quick).total(), row_sum_error(contract, exact).total(), what + " B4");
        if (std::isinf(upper(quick.maximum_magnitude))) continue;  // beyond the doubles
        expect_above(logsumexp_error(contract, quick).total(), logsumexp_error(contract, exact).total(), what + " B5");
        expect_above(entropy_error(contract, quick).total(), entropy_error(contract, exact).total(), what + " B6");
        expect_above(entropy_undershoot(contract, quick), entropy_undershoot(contract, exact), what + " undershoot");
      }
    }
  }
}

TEST(RoundingScalars, UpperBoundRoundsUpAndRefusesNegativeNumbers) {
  EXPECT_GT((UpperBound(1) + UpperBound(0x1p-60)).value(), 1);
  EXPECT_GT((UpperBound(1.0 / 3) * UpperBound(3)).value(), 1.0 / 3 * 3 - 0x1p-54);
  EXPECT_EQ((UpperBound(0) * UpperBound::infinity()).value(), 0);
  EXPECT_TRUE(std::isinf(minus_log1m(UpperBound(1)).value()));
  EXPECT_TRUE(std::isinf(over_one_minus(UpperBound(2)).value()));
  EXPECT_THROW(UpperBound(-1.0), std::invalid_argument);
  EXPECT_THROW(UpperBound(std::nan("")), std::invalid_argument);
}

TEST(RoundingScalars, AProductThatUnderflowsIsTheNextNumberUpOrTheOneBehindIt) {
  const PrecisionScope scope(128);
  const double smallest = std::numeric_limits<double>::denorm_min(), normal = std::numeric_limits<double>::min();
  const double below_normal = 0x1.fffffffffffffp-1023, half_normal = 0x1.fffffffffffffp-538;
  const std::vector<double> factors{smallest,     3 * smallest,
                                    0x1.8p-1060,  below_normal,
                                    normal,       0x1.8p-1022,
                                    0x1.3p-900,   0x1.5p-538,
                                    half_normal,  0x1p-53,
                                    1.0 / 3,      1,
                                    1.75,         3,
                                    0x1p52,       0x1.7p53,
                                    0x1.0001p300, std::numeric_limits<double>::max()};
  for (const double a : factors) {
    for (const double b : factors) {
      const double bound = (UpperBound(a) * UpperBound(b)).value();
      if (std::isinf(bound)) continue;
      const Enclosure exact = Enclosure(a) * Enclosure(b);
      EXPECT_EQ(less_equal(exact, Enclosure(bound)), Decision::proved) << a << " * " << b;
      const double before = std::nextafter(std::nextafter(bound, 0), 0);
      EXPECT_EQ(less_equal(Enclosure(before), exact), Decision::proved) << a << " * " << b;
    }
  }
}

TEST(RoundingBound, GrantsNoOverflowAndPromisesNothingOfStalledSums) {
  const PrecisionScope scope(64);
  const std::vector<double> logits(std::size_t{1} << 17, 0.0);
  const RowOracle oracle(logits);
  const auto row = row_statistics<UpperBound>(oracle);
  // 2^17 ones are beyond the largest number of f16: a kernel must see to it that they do not overflow. Of 2^17
  // roundings of bf16 nothing is left.
  EXPECT_LT(upper(sum_error(parse_contract("acc=f16 sum=tree", Format::f16, Format::f16), row)), 0.02);
  EXPECT_EQ(infinity_from(Format::f16), 65520);
  EXPECT_EQ(infinity_from(Format::f32), 0x1.ffffffp+127);
  const auto stalled = softmax_error(parse_contract("acc=bf16", Format::bf16, Format::bf16), row, Grants::none);
  EXPECT_TRUE(is_vacuous(upper(stalled.relative(UpperBound())), 1));
  const auto sound = softmax_error(parse_contract("acc=f32", Format::bf16, Format::bf16), row, Grants::none);
  EXPECT_FALSE(is_vacuous(upper(sound.relative(UpperBound())), 1));
}

TEST(RoundingBound, RefusesFullyMaskedRowsAndWrongTemperatures) {
  const std::vector<double> masked(3, -INFINITY);
  EXPECT_THROW(row_statistics<UpperBound>(RowOracle(masked)), std::invalid_argument);
  auto row = row_statistics<UpperBound>(RowOracle(std::vector<double>{1, 2}));
  row.theta = 0;
  EXPECT_THROW(softmax_error(Contract{}, row), std::invalid_argument);
  row.theta = 1;
  row.visible = 0;
  EXPECT_THROW(softmax_error(Contract{}, row), std::invalid_argument);
}

// Were they all sought from one place on, this would take minutes.
TEST(RoundingBound, DifferentLogitsAreCountedOneAfterTheOther) {
  std::vector<double> logits;
  for (int i = 0; i < 1 << 19; ++i) logits.push_back(i % (1 << 18));
  const Contract contract = simulated::f32_contract("sum=lanes:2");
  EXPECT_EQ(rescaling_count(contract, logits), (1u << 18) - 1);
}

TEST(RoundingBound, RescalingsOfATreeAreItsHeightOrTheDistinctLogitsLessOne) {
  std::mt19937 random(1);
  for (const char* words : {"sum=tree", "sum=lanes:8", "sum=lanes:2", "sum=blocks:4"}) {
    const Contract contract = simulated::f32_contract(words);
    for (int k = 0; k < 2000; ++k) {
      std::vector<double> logits(1 + random() % 80);
      const unsigned kinds = 1 + static_cast<unsigned>(random() % 40);
      for (double& logit : logits) {
        const auto kind = static_cast<double>(random() % kinds);
        logit = kind == 0 ? (random() % 2 == 0 ? 0.0 : -0.0) : kind == 1 ? -INFINITY : kind - 7.5;
      }
      std::set<double> distinct(logits.begin(), logits.end());  // -0 and 0 are one
      distinct.erase(-INFINITY);
      const std::uint64_t height = summation_height(contract, logits.size());
      const std::uint64_t need = distinct.empty() ? 0 : std::min<std::uint64_t>(height, distinct.size() - 1);
      ASSERT_EQ(rescaling_count(contract, logits), need) << words;
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
