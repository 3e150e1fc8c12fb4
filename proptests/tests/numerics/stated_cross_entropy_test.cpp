// B14 and B15: the code's bounds are the document's, from below and from above.
#include "proptests/tests/numerics/stated_cross_entropy.hpp"

#include <gtest/gtest.h>

#include "proptests/tests/numerics/stated_rows.hpp"

namespace softcheck::numerics {
namespace {

using stated::expect_same;
using stated::Real;

const std::vector<CrossEntropyOptions> every_option{
    {}, {0.1, 0, 0, 2}, {0, 0.01, 0, 2}, {0, 0, 30, 8}, {0.3, 0.5, 0.7, 2}};

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
