#include "judge/ops/rows/sharpened_row.hpp"

#include <array>
#include <utility>

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

// What a row at beta is made of, and how wide it may be: relative to p.
struct SumsCase {
  Sums by;
  double width, error;
};
constexpr std::array sums_cases{SumsCase{Sums::double_double, 0x1p-80, 0x1p-40},
                                SumsCase{Sums::filter, 0x1p-35, 0x1p-35}};

TEST(SharpenedRow, AgreesWithTheOracle) {
  const PrecisionScope precision(113);
  for (const EntropyDefinition definition : {EntropyDefinition::exact, EntropyDefinition::paper}) {
    for (const RowCase& row_case : rows(Format::f32, 120)) {
      const std::vector<double> logits = row_case.row.expand();
      const AdaptiveRowOracle oracle(logits, definition);
      for (const auto& [by, width, error] : sums_cases) {
        RowCascade plain(logits);
        SharpenedRow sharp(plain, logits, definition, by);
        for (std::size_t i = 0; i < logits.size(); ++i) {
          if (!std::isfinite(logits[i])) continue;
          const Enclosure exact = oracle.softmax(i);
          EXPECT_TRUE(sharp.softmax(i).overlaps(exact)) << to_text(row_case) << " item " << i;
          EXPECT_LE(sharp.softmax(i).width(), exact.lower_double() * width + 0x1p-1000);
          const SharpenedRow::Near near = sharp.near(i);
          const Enclosure about = Enclosure(near.value) + Enclosure::between(-near.error, near.error);
          EXPECT_TRUE(about.overlaps(exact)) << to_text(row_case) << " item " << i;
          EXPECT_LE(near.error, near.value * error + 0x1p-980);
          EXPECT_GE(sharp.deviation_bound(i), oracle.sharpened().deviation(i).lower_double() * (1 - width));
          const auto finer = static_cast<double>(sharp.finer(i));
          EXPECT_LE(std::fabs(finer - exact.midpoint()), exact.upper_double() * std::fmax(0x1p-52, width));
        }
      }
    }
  }
}

TEST(SharpenedRow, ItsStatisticsBoundThoseOfTheOracle) {
  const PrecisionScope precision(113);
  const Contract contract = default_contract(Format::f32, Format::f32);
  for (const RowCase& row_case : rows(Format::f32, 200)) {
    const std::vector<double> logits = row_case.row.expand();
    RowCascade plain(logits), again(logits);
    const SharpenedRow sharp(plain, logits, EntropyDefinition::exact, Sums::double_double);
    const SharpenedRow quick(again, logits, EntropyDefinition::exact, Sums::filter);
    const PrecisionScope finer(256);  // the oracle's own bounds are then as good as exact
    const AdaptiveRowOracle oracle(logits, EntropyDefinition::exact);
    const auto exact = numerics::row_statistics<UpperBound>(oracle.sharpened(), 3);
    // By the filter's sums every moment moves by up to d (1 + ln(n + e^2))^3, d some 2^-46.
    for (const auto& [bound, moved] :
         {std::pair{sharp.statistics(contract, 3), 0x1p-40}, std::pair{quick.statistics(contract, 3), 0x1p-36}}) {
      EXPECT_EQ(bound.visible, exact.visible);
      EXPECT_EQ(bound.rescalings, exact.rescalings);
      for (const auto member :
           {&Statistics::log_sum, &Statistics::mean_deviation, &Statistics::mean_square_deviation,
            &Statistics::maximum_magnitude, &Statistics::largest_magnitude, &Statistics::logsumexp_magnitude}) {
        const double ours = (bound.*member).value(), theirs = (exact.*member).value();
        EXPECT_GE(ours, theirs * (1 - 0x1p-50) - 0x1p-200) << to_text(row_case);
        // A mean is a sum rounded up to 32 bits over a sum rounded down to 32 (numerics/enclosures/coarse.hpp). S - 1
        // of so many bits moves ln S by 2^-31 at most, which may cancel against the maximum.
        const double cancelled = member == &Statistics::logsumexp_magnitude ? 0x1p-31 : 0;
        EXPECT_LE(ours, theirs * (1 + 0x1p-31) / (1 - 0x1p-31) * (1 + moved * 32) + moved + cancelled)
            << to_text(row_case);
      }
    }
  }
}

// The filter leaves the entropy open, and so beta: an item away from the maximum has that error, too.
TEST(SharpenedRow, AnEntropyThatIsLessKnownWidensItsItems) {
  const PrecisionScope precision(113);
  const std::vector<double> logits{0, -0.3, -0.7, -1.1, -40};
  RowCascade plain(logits), again(logits);
  const SharpenedRow sharp(plain, logits, EntropyDefinition::exact, Sums::double_double);
  const SharpenedRow quick(again, logits, EntropyDefinition::exact, Sums::filter);
  EXPECT_GT(quick.near(4).error / quick.near(4).value, 2 * sharp.near(4).error / sharp.near(4).value);
}

// Without the filter's errors its sums would be a double each, which is hardly ever the sum.
TEST(SharpenedRow, TheFilterHoldsTheSumsOfDoubleDoubles) {
  const PrecisionScope precision(113);
  for (const RowCase& row_case : rows(Format::f32, 200)) {
    const std::vector<double> logits = row_case.row.expand();
    RowCascade cascade(logits);
    const Enclosure near = sum_minus_one(cascade, Sums::filter), exact = sum_minus_one(cascade, Sums::double_double);
    EXPECT_TRUE(near.overlaps(exact)) << to_text(row_case);
    EXPECT_LE(near.width(), exact.upper_double() * 0x1p-40 + 0x1p-900) << to_text(row_case);
  }
}

}  // namespace
}  // namespace softcheck::proptests
