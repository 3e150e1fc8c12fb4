// B1 to B11, B14 and B15: the code's bounds are the document's, from below and from above. And no bound outside the
// theorems' domain.
#include <gtest/gtest.h>

#include <cmath>

#include "numerics/rounding/rounding_model.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"
#include "proptests/tests/numerics/stated_ops.hpp"
#include "proptests/tests/numerics/stated_softmax.hpp"

namespace softcheck::numerics {
namespace {

using stated::expect_same;
using stated::Real;

void compare_bounds(const Contract& contract, const RowStatistics<Real>& row, Grants grants, const std::string& what) {
  const stated::Softmax s(contract, row, grants);
  expect_same(sum_error(contract, row, grants), stated::grown(s.sigma), what + "B1");
  const ElementThreshold<Real> element = softmax_error(contract, row, grants);
  const ElementThreshold<Real> chord = s.chord(s.element_log(), s.t, s.element_lost());
  expect_same(element.constant, chord.constant, what + "B2, constant");
  expect_same(element.slope, chord.slope, what + "B2, slope");
  expect_same(element.floor, chord.floor, what + "B2, underflow");
  expect_same(total_variation_error(contract, row, grants),
              chord.constant + chord.slope * row.mean_deviation + s.n * chord.floor, what + "B3");
  const Real lost = s.n * s.element_lost();
  expect_same(row_sum_error(contract, row, Exponentials::recomputed, grants),
              {stated::grown(s.numerator() + s.mu + s.sigma + s.division()), lost}, what + "B4");
  const Real additions = s.n * s.omega_a * exp(s.h * s.lambda + s.sigma);
  expect_same(row_sum_error(contract, row, Exponentials::shared, grants),
              {stated::grown(s.h * s.lambda + stated::lambda_of(additions) + s.lambda_s + s.division()), lost},
              what + "B4, shared");
  expect_same(logsumexp_error(contract, row, grants), stated::logsumexp(contract, row, grants), what + "B5");
  const LinearThreshold<Real> logarithm = log_softmax_error(contract, row, grants);
  const LinearThreshold<Real> said = stated::log_softmax(contract, row, grants);
  expect_same(logarithm.constant, said.constant, what + "B5, constant");
  expect_same(logarithm.slope, said.slope, what + "B5, slope");
  expect_same(logarithm.floor, said.floor, what + "B5, underflow");
  expect_same(entropy_error(contract, row, grants), stated::entropy(contract, row, grants), what + "B6");
  expect_same(entropy_uncentred_error(contract, row, grants), stated::entropy_uncentred(contract, row, grants),
              what + "B7");
  expect_same(entropy_of_coefficients_error(contract, row, grants),
              stated::entropy_of_coefficients(contract, row, grants), what + "B6d");
  const ScalarThreshold<Real> contracted = contracted_entropy_error(contract, row, grants);
  const ScalarThreshold<Real> of_words = stated::contracted_entropy(contract, row, grants);
  expect_same(contracted, of_words, what + "the contract's form");
}

TEST(StatedBounds, OfSoftmaxAndEntropyAreTheDocuments) {
  const PrecisionScope precision(256);
  int promised = 0;
  for (const stated::Setting& setting : stated::settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    for (const RowStatistics<Real>& row : stated::rows()) {
      const std::string what = std::string(setting.words) + " n=" + std::to_string(row.visible) +
                               " theta=" + std::to_string(row.theta) + " ";
      for (const Grants grants : {Grants::all, Grants::none}) compare_bounds(contract, row, grants, what);
      promised += stated::promises(entropy_error(contract, row).total());
      // The most that one coefficient may exceed 1 by, and an entropy fall below 0.
      const stated::Softmax s(contract, row);
      const Real deviation(1.5);
      const Real both = 2 * (s.lambda_e + s.lambda_w + s.c + s.t * deviation) + s.rescaling + s.lambda_s +
                        4 * s.lambda + s.lambda_out + s.late;
      expect_same(coefficient_excess(contract, row, deviation), stated::grown(both), what + "excess");
      expect_same(entropy_undershoot(contract, row), stated::undershoot(contract, row), what + "undershoot");
      expect_same(epsilon_entropy_gap<Real>(row.visible), stated::epsilon_gap(row.visible), what + "B11");
    }
  }
  EXPECT_GT(promised, 48);
}

void expect_same_element(const ElementThreshold<Real>& bound, const ElementThreshold<Real>& said,
                         const std::string& what) {
  expect_same(bound.constant, said.constant, what + "constant");
  expect_same(bound.slope, said.slope, what + "slope");
  expect_same(bound.floor, said.floor, what + "underflow");
}

TEST(StatedBounds, OfAdaptiveTemperatureAndMergesAreTheDocuments) {
  const PrecisionScope precision(256);
  int promised = 0;
  for (const stated::Setting& setting : stated::settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    for (const RowStatistics<Real>& row : stated::rows()) {
      RowStatistics<Real> scaled = row;
      scaled.log_sum = row.log_sum / 2;
      scaled.mean_deviation = row.mean_deviation / 4;
      scaled.maximum_magnitude = row.maximum_magnitude * 2;
      scaled.largest_magnitude = row.largest_magnitude * 2;
      for (const Grants grants : {Grants::all, Grants::none}) {
        const std::string what = std::string(setting.words) + " n=" + std::to_string(row.visible) + " B10, ";
        const ElementThreshold<Real> bound = adaptive_temperature_error(contract, row, scaled, grants);
        expect_same_element(bound, stated::adaptive(contract, row, scaled, grants), what);
        promised += stated::promises(bound.constant);
      }
    }
    for (const std::uint64_t parts : {1, 2, 37}) {
      for (const double part_error : {0.0, 0x1p-12}) {
        expect_same_element(merge_by_lse_error(contract, parts, Real(part_error), Real(3)),
                            stated::merge_by_lse(contract, parts, Real(part_error), Real(3)),
                            std::string(setting.words) + " B8, ");
      }
    }
  }
  EXPECT_GT(promised, 40);
}

// The theorems' premises: sound in theory/proofs/floating_point/standard_model.v.
double bound_at(const char* words, Format format, double theta) {
  RowStatistics<UpperBound> row{4, 4, 0, theta, UpperBound(1.0), UpperBound(0.5), UpperBound(0.5)};
  const Contract contract = parse_contract(words, format, format);
  const double bound = upper(sum_error(contract, row));
  // All bounds stand on the same premises.
  for (const double other :
       {upper(softmax_error(contract, row).constant), upper(total_variation_error(contract, row)),
        upper(row_sum_error(contract, row).total()), upper(logsumexp_error(contract, row).total()),
        upper(log_softmax_error(contract, row).constant), upper(entropy_error(contract, row).total()),
        upper(entropy_uncentred_error(contract, row).total()),
        upper(coefficient_excess(contract, row, UpperBound()))}) {
    EXPECT_EQ(std::isinf(bound), std::isinf(other)) << words << " theta " << theta;
  }
  return bound;
}

TEST(BoundsDomain, NothingIsPromisedWhereTheArgumentsErrorIsTooSteepForTheTheorems) {
  // e^(A lambda) - 1 <= 1/4.
  EXPECT_TRUE(std::isfinite(bound_at("acc=bf16 exp=E:2,A:57 sum=tree", Format::bf16, 1)));
  EXPECT_TRUE(std::isinf(bound_at("acc=bf16 exp=E:2,A:58 sum=tree", Format::bf16, 1)));
  EXPECT_TRUE(std::isinf(bound_at("acc=bf16 exp=E:2,A:64 sum=tree", Format::bf16, 1)));
  EXPECT_TRUE(std::isfinite(bound_at("acc=bf16 exp=E:2,A:55 sum=tree theta=before", Format::bf16, 0.5)));
  EXPECT_TRUE(std::isinf(bound_at("acc=bf16 exp=E:2,A:56 sum=tree theta=before", Format::bf16, 0.5)));
}

TEST(BoundsDomain, NothingIsPromisedWhereADifferenceOverflowsBeforeItIsScaled) {
  // f16: half its largest number is 32752. The exponential of a difference that overflows is 0 only below theta = 984.
  const auto slope = [](double magnitude, double theta) {
    const RowStatistics<UpperBound> row{
        4, 4, 0, theta, UpperBound(1.0), UpperBound(0.5), UpperBound(0.5), UpperBound(0.0), UpperBound(magnitude)};
    const Contract contract = parse_contract("acc=f16 exp=1ulp sum=tree subnormal=kept", Format::f16, Format::f16);
    return upper(RoundingModel<UpperBound>(contract, row, Grants::all).slope);
  };
  EXPECT_TRUE(std::isfinite(slope(16, 2000)));
  EXPECT_TRUE(std::isinf(slope(17, 2000)));
  EXPECT_TRUE(std::isfinite(slope(60, 900)));
  EXPECT_TRUE(std::isinf(slope(60, 1000)));
  // 1 / theta has to be a normal number, and twice that.
  EXPECT_TRUE(std::isfinite(slope(1, 8191)));
  EXPECT_TRUE(std::isinf(slope(1, 8192)));
  EXPECT_TRUE(std::isfinite(slope(1, 0x1p-14)));
  EXPECT_TRUE(std::isinf(slope(1, 0x1p-15)));
}

TEST(BoundsDomain, NothingIsPromisedWhereADifferenceLosesMoreThanHalf) {
  // (1 + t) 2^-14 / theta + 2^-14 <= 1/2, about theta >= 1.2227e-4.
  const char* flushed = "acc=f16 exp=1ulp sum=tree subnormal=flushed";
  EXPECT_TRUE(std::isinf(bound_at(flushed, Format::f16, 9e-5)));
  EXPECT_TRUE(std::isinf(bound_at(flushed, Format::f16, 1.2e-4)));
  RowStatistics<UpperBound> row{4, 4, 0, 1.25e-4, UpperBound(1.0), UpperBound(0.5), UpperBound(0.5)};
  const Contract contract = parse_contract(flushed, Format::f16, Format::f16);
  EXPECT_TRUE(std::isfinite(upper(RoundingModel<UpperBound>(contract, row, Grants::all).argument_floor)));
  row.theta = 1.2e-4;
  EXPECT_TRUE(std::isinf(upper(RoundingModel<UpperBound>(contract, row, Grants::all).argument_floor)));
  const char* kept = "acc=f16 exp=1ulp sum=tree subnormal=kept";
  EXPECT_TRUE(std::isfinite(bound_at(kept, Format::f16, 9e-5)));
}

// (q scale) k in binary16: q scale is a fifth above the smallest number, and 1024 times what it loses is not small.
TEST(RoundingScores, AQueryThatIsScaledFirstLosesWhatItsKeyMultiplies) {
  const Contract contract = parse_contract("acc=f16 sum=sequential subnormal=kept", Format::f16, Format::f16);
  constexpr double query = 0x1p-22, key = 1024;
  AttentionArithmetic arithmetic{.dimension = 1, .scale = round_to(Format::f16, 0.3)};
  const double score = round_to(Format::f16, round_to(Format::f16, query * arithmetic.scale) * key);
  const double error = std::fabs(score - arithmetic.scale * (query * key));
  EXPECT_GT(error, score_error(contract, arithmetic, UpperBound(query * key)).value()) << "of a score scaled behind";
  arithmetic.factor_sum = query + key;
  EXPECT_LE(error, score_error(contract, arithmetic, UpperBound(query * key)).value());
}

TEST(StatedBounds, OfAScoreAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : stated::settings) {
    for (const ScaleUse use : {ScaleUse::whole, ScaleUse::split, ScaleUse::stored}) {
      Contract contract = parse_contract(setting.words, setting.input, setting.output);
      contract.scale = use;
      for (const double scale : {0.25, -3.0}) {
        for (const std::uint64_t d : {1, 64}) {
          AttentionArithmetic arithmetic;
          arithmetic.dimension = d;
          arithmetic.scale = scale;
          arithmetic.factor_sum = 5;
          expect_same(score_error(contract, arithmetic, Real(7)), stated::score(contract, arithmetic, Real(7)),
                      std::string(setting.words) + " score");
        }
      }
      for (const Format scores : {Format::f32, Format::bf16, Format::f16}) {
        contract.scores = scores;
        expect_same(stored_score_error(contract, Real(0x1p-9), Real(2)),
                    stated::stored_score(contract, Real(0x1p-9), Real(2)), std::string(setting.words) + " scores=");
      }
    }
  }
}

struct StatedQuery {
  std::vector<Real> p, D, e, values;
  Real output;
};

void compare(const Contract& contract, const AttentionArithmetic& arithmetic, const AttentionThreshold<Real>& bound,
             const stated::Attention& said, const StatedQuery& query, Grants grants, const std::string& what) {
  expect_same(bound.column(query.values, query.output),
              said.column(contract, arithmetic, query.values, query.output, grants), what + "column");
  for (const Format output : {Format::f32, Format::bf16}) {
    Contract results = said.contract;
    results.output = output;
    ScalarThreshold<Real> l = stated::logsumexp(results, said.row, grants);
    l.rounding = l.rounding + said.of_logsumexp;
    expect_same(bound.logsumexp(output), l, what + "log-sum-exp");
    ScalarThreshold<Real> h = stated::contracted_entropy(results, said.row, grants);
    h.rounding = h.rounding + said.of_entropy;
    expect_same(bound.entropy(output), h, what + "entropy");
    expect_same(bound.undershoot(output), stated::undershoot(results, said.row), what + "undershoot");
  }
  expect_same(bound.sum_error(), stated::grown(stated::Softmax(said.contract, said.row, grants).sigma), what + "B1");
}

// Labelled full: StatedBounds.OfAttentionAreTheDocuments
TEST(StatedBounds, OfAttentionAreTheDocuments) {
  const PrecisionScope precision(256);
  const StatedQuery query{{Real(0.5), Real(0.25), Real(0), Real(0.25)},
                          {Real(0), Real(0.75), Real(9), Real(0.5)},
                          {Real(0x1p-12), Real(0x1p-10), Real(1), Real(0x1p-11)},
                          {Real(1), Real(3), Real(2), Real(0.5)},
                          Real(1.25)};
  for (const stated::Setting& setting : stated::settings) {
    for (const std::optional<Format> values :
         {std::optional<Format>(), std::optional<Format>(Format::bf16), std::optional<Format>(Format::f16)}) {
      Contract contract = parse_contract(setting.words, setting.input, setting.output);
      contract.values = values;
      const Format weights = values.value_or(contract.weights.value_or(contract.accumulator));
      const AttentionArithmetic arithmetic{64, 0.125, weights, 3, 5};
      for (const RowStatistics<Real>& row : stated::rows()) {
        const std::string what = std::string(setting.words) + " n=" + std::to_string(row.visible) + " ";
        RowStatistics<Real> sharp = row;
        sharp.log_sum = row.log_sum / 2;
        sharp.maximum_magnitude = row.maximum_magnitude * 2;
        const ScoreRow<Real> scores{row, query.p, query.D}, sharpened{sharp, query.p, query.D};
        for (const Grants grants : {Grants::all, Grants::none}) {
          const stated::Attention plain(contract, scores, query.e, Real(1));
          compare(contract, arithmetic, AttentionThreshold<Real>(contract, arithmetic, scores, query.e, grants), plain,
                  query, grants, what + "B9, ");
          stated::Attention adaptive(contract, sharpened, query.e, Real(1.5));
          adaptive.sharpen(plain, grants);
          compare(contract, arithmetic,
                  AttentionThreshold<Real>(contract, arithmetic, scores, sharpened, Real(1.5), query.e, grants),
                  adaptive, query, grants, what + "adaptive, ");
        }
      }
    }
  }
}

const std::vector<CrossEntropyOptions> every_option{
    {}, {0.1, 0, 0}, {0, 0.01, 0}, {.softcap = 30, .tanh_error = 8}, {0.3, 0.5, 0.7}};

TEST(StatedBounds, OfCrossEntropyAndItsGradientAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const stated::Setting& setting : stated::settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.output);
    for (const RowStatistics<Real>& statistics : stated::rows()) {
      if (statistics.theta != 1) continue;
      for (const CrossEntropyOptions& options : every_option) {
        for (const bool weighted : {false, true}) {
          const CrossEntropyRow<Real> row{
              statistics, Real(0.75), Real(weighted ? 1.5 : 1), weighted, Real(weighted ? 0.875 : 1), Real(0.625),
              Real(2),    Real(2.5)};
          const std::string what = std::string(setting.words) + " n=" + std::to_string(statistics.visible) +
                                   " s=" + std::to_string(options.label_smoothing) +
                                   " z=" + std::to_string(options.z_loss) + " cap=" + std::to_string(options.softcap) +
                                   (weighted ? " weighted " : " ");
          const CrossEntropyElement<Real> element{Real(0.375), Real(1.25), Real(0.125),
                                                  Real(0.25),  Real(0.75), Real(0.25)};
          for (const Grants grants : {Grants::all, Grants::none}) {
            expect_same(cross_entropy_error(contract, options, row, grants),
                        stated::loss(contract, options, row, grants), what + "B14");
            expect_same(CrossEntropyGradientThreshold<Real>(contract, options, row, Real(0.5), grants).element(element),
                        stated::loss_gradient(contract, options, row, Real(0.5), element, grants), what + "B15");
          }
        }
      }
    }
    for (const std::uint64_t rows : {1, 7, 64}) {
      for (const bool weighted : {false, true}) {
        expect_same(cross_entropy_mean_error(contract, rows, Real(5), Real(0x1p-6), 3, weighted),
                    stated::mean_loss(contract, rows, Real(5), Real(0x1p-6), 3, weighted),
                    std::string(setting.words) + " mean");
      }
    }
    for (const CrossEntropyOptions& options : every_option) {
      RowStatistics<Real> at_cap;
      at_cap.largest_magnitude = Real(options.softcap);
      const Real said = stated::Capped(contract, options, at_cap).e;
      const double bound = softcap_error(contract, options);
      EXPECT_GE(bound, said.lower_double());
      EXPECT_LE(bound, (said * (1 + Real::power_of_two(-40))).upper_double());
    }
  }
}

}  // namespace
}  // namespace softcheck::numerics
