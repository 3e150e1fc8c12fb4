// B1 to B7 and B11: the code's bounds are the document's, from below and from above.
#include <gtest/gtest.h>

#include "proptests/tests/numerics/stated_entropy.hpp"
#include "proptests/tests/numerics/stated_rows.hpp"

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
  expect_same(contracted, of_words, what + "entropy_from=");
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

}  // namespace
}  // namespace softcheck::numerics
