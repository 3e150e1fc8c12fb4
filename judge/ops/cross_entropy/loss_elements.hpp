#pragma once

#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "judge/ops/cross_entropy/loss_terms.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/oracles/cross_entropy.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

/// For a row whose label is ignored: all values are 0.
std::unique_ptr<RowElements> ignored_elements(std::string_view claim);

/// The loss of a counted row (B14).
class LossElements final : public RowElements {
 public:
  /// weights   of the classes, or empty; they and the row must outlive this object
  LossElements(const RowInputs& row, std::span<const double> weights, std::string_view claim)
      : LossElements(row, LossTerms(row, weights), claim) {}
  LossElements(const RowInputs& row, LossTerms terms, std::string_view claim);

  std::string_view claim() const override { return claim_; }
  numerics::Enclosure value(std::size_t) override { return oracles_.now().loss(); }
  Quick quick(std::size_t) override;
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(rounding_, magnitude); }
  bool overflows(std::size_t) override { return overflows_; }
  /// The threshold without its floors.
  double rounding() const { return rounding_; }
  std::size_t label() const { return terms_.label(); }

 private:
  std::string_view claim_;
  LossTerms terms_;
  OracleLadder<numerics::CrossEntropyOracle> oracles_;
  double threshold_ = 0, rounding_ = 0;
  bool overflows_ = false;
};

/// The factor of a row's slopes: the loss's upstream gradient over theta, with a mean divided by the call's divisor.
struct LossUpstream {
  /// upstream   of the row or the call; divided by the row's theta
  LossUpstream(const RowInputs& row, double upstream);
  /// For a mean of the rows' losses. RowInputs::counted must be set, not empty, with a sum > 0, and outlive this
  /// object.
  ///
  /// weighted   the divisor is a sum of class weights; else the number of rows
  LossUpstream(const RowInputs& row, double upstream, bool weighted);

  /// Without the division by theta.
  numerics::Enclosure exact() const;

  double number;
  const CountedWeights* counted = nullptr;
  long double value = 0, error = 0;  // error is absolute
  numerics::UpperBound magnitude;    // at least a kernel's |value|
  numerics::UpperBound relative;     // a kernel's relative error
  numerics::UpperBound lost;         // and its absolute error by underflow
  numerics::UpperBound lost_behind;  // absolute error of the gradient if the division comes last
  // factor by which that division scales earlier underflow errors
  numerics::UpperBound divided = numerics::UpperBound(1);
  bool in_range = true;  // are the divisor and the quotients in the accumulator's range?

 private:
  void divide(const RowInputs& row, long double by_divisor);
};

/// The gradient of the loss of a counted row (B15).
class LossGradientElements final : public RowElements {
 public:
  LossGradientElements(const RowInputs& row, LossTerms terms, const LossUpstream& upstream, std::string_view claim);

  std::string_view claim() const override { return claim_; }
  numerics::Enclosure value(std::size_t j) override { return oracles_.now().gradient(j, upstream_.exact()); }
  Quick quick(std::size_t j) override;
  double threshold(std::size_t j) override;
  bool overflows(std::size_t) override { return !promised; }
  bool repeats(std::size_t j) const override { return terms_.repeats(j); }
  double metric(std::size_t j, double) override;
  bool is_vacuous(std::size_t j, double metric) override;

 private:
  // alpha p - b.
  struct Difference {
    long double coefficient, subtrahend, value, magnitude, error;
    LossTerms::Slope slope;
  };
  const Difference& difference(std::size_t j) const {
    return last_.of(j, [this](std::size_t k) { return computed_difference(k); });
  }
  Difference computed_difference(std::size_t j) const;
  numerics::CrossEntropyElement<numerics::UpperBound> element(std::size_t j) const;
  // The part of a threshold that comes from the upstream's error.
  numerics::UpperBound of_upstream(std::size_t j) const;

  std::string_view claim_;
  LossTerms terms_;
  LossUpstream upstream_;
  mutable LastItem<Difference> last_;
  numerics::CrossEntropyGradientThreshold<numerics::UpperBound> threshold_, plain_;
  OracleLadder<numerics::CrossEntropyOracle> oracles_;
};

/// Does a number of this magnitude stay in the accumulator's range after a rounding?
bool is_in_range(const numerics::Contract& contract, double magnitude);

}  // namespace softcheck::proptests
