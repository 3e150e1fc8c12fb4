// B8 and B10: the code's bounds are the document's. And no bound outside the theorems' domain.
#include "proptests/tests/numerics/stated_temperature.hpp"

#include <gtest/gtest.h>

#include "numerics/rounding/rounding_model.hpp"
#include "proptests/tests/numerics/stated_rows.hpp"

namespace softcheck::numerics {
namespace {

using stated::expect_same;
using stated::Real;

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

}  // namespace
}  // namespace softcheck::numerics
