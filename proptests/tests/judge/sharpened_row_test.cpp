#include "judge/ops/rows/sharpened_row.hpp"

#include "numerics/oracles/adaptive_oracle.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

std::vector<RowCase> rows(Format format, int count) {
  RowOptions options;
  options.formats = {format};
  options.max_length = 90;
  options.theta_exponent = 0;
  return drawn(row_cases(options), count, 5, 100);
}

TEST(SharpenedRow, AgreesWithTheOracle) {
  const PrecisionScope precision(113);
  for (const EntropyDefinition definition : {EntropyDefinition::exact, EntropyDefinition::paper}) {
    for (const RowCase& row_case : rows(Format::f32, 120)) {
      const std::vector<double> logits = row_case.row.expand();
      RowCascade plain(logits);
      const SharpenedRow sharp(plain, logits, definition);
      const AdaptiveRowOracle oracle(logits, definition);
      for (std::size_t i = 0; i < logits.size(); ++i) {
        if (!std::isfinite(logits[i])) continue;
        const Enclosure exact = oracle.softmax(i);
        EXPECT_TRUE(sharp.softmax(i).overlaps(exact)) << to_text(row_case) << " item " << i;
        EXPECT_LE(sharp.softmax(i).width(), exact.lower_double() * 0x1p-80 + 0x1p-1000);
        const SharpenedRow::Near near = sharp.near(i);
        const Enclosure about = Enclosure(near.value) + Enclosure::between(-near.error, near.error);
        EXPECT_TRUE(about.overlaps(exact)) << to_text(row_case) << " item " << i;
        EXPECT_LE(near.error, near.value * 0x1p-40 + 0x1p-980);
        EXPECT_GE(sharp.deviation_bound(i), oracle.sharpened().deviation(i).lower_double());
        const auto finer = static_cast<double>(sharp.finer(i));
        EXPECT_LE(std::fabs(finer - exact.midpoint()), exact.upper_double() * 0x1p-52);
      }
    }
  }
}

TEST(SharpenedRow, ItsStatisticsBoundThoseOfTheOracle) {
  const PrecisionScope precision(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  for (const RowCase& row_case : rows(Format::f32, 200)) {
    const std::vector<double> logits = row_case.row.expand();
    RowCascade plain(logits);
    const SharpenedRow sharp(plain, logits, EntropyDefinition::exact);
    const Statistics bound = sharp.statistics(contract, 3);
    const PrecisionScope finer(256);  // the oracle's own bounds are then as good as exact
    const AdaptiveRowOracle oracle(logits, EntropyDefinition::exact);
    const auto exact = numerics::row_statistics<UpperBound>(oracle.sharpened(), 3);
    EXPECT_EQ(bound.visible, exact.visible);
    EXPECT_EQ(bound.rescalings, exact.rescalings);
    for (const auto member :
         {&Statistics::log_sum, &Statistics::mean_deviation, &Statistics::mean_square_deviation,
          &Statistics::maximum_magnitude, &Statistics::largest_magnitude, &Statistics::logsumexp_magnitude}) {
      const double ours = (bound.*member).value(), theirs = (exact.*member).value();
      EXPECT_GE(ours, theirs * (1 - 0x1p-50) - 0x1p-200) << to_text(row_case);
      // A mean is a sum rounded up to 32 bits over a sum rounded down to 32 (numerics/enclosures/coarse.hpp). S - 1 of
      // so many bits moves ln S by 2^-31 at most, which may cancel against the maximum.
      const double cancelled = member == &Statistics::logsumexp_magnitude ? 0x1p-31 : 0;
      EXPECT_LE(ours, theirs * (1 + 0x1p-31) / (1 - 0x1p-31) * (1 + 0x1p-35) + 0x1p-40 + cancelled)
          << to_text(row_case);
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
