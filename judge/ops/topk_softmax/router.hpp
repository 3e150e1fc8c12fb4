#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/rounding/rounding_sigmoid.hpp"
#include "numerics/rounding/rounding_topk.hpp"

/// Routers: top-k of scores p + bias, of the best groups (docs/tolerances/topk.md).
namespace softcheck::proptests {

/// The attributes of a router in a call whose k and renormalize are given; k gets smaller where the kept groups have
/// fewer items. By the low six bits of RowCase::auxiliary and those of router_bits().
Attributes with_router(Attributes drawn, std::uint64_t auxiliary, std::size_t n);
/// The bits of RowCase::auxiliary that the domain's words about routers set.
std::uint64_t router_bits(const Domain& domain);
/// The one k of a domain of routers; 0: drawn, from the low bits, or not known. So a fixed k leaves the low bits to the
/// bias and the factor.
std::uint64_t router_k(std::uint64_t auxiliary);
bool is_router(std::uint64_t auxiliary);
bool has_bias(std::uint64_t auxiliary);
/// The logits, no larger than 16, and the bias.
std::vector<std::vector<double>> router_inputs(numerics::Format format, std::span<const double> logits,
                                               std::uint64_t auxiliary);

/// Are the items chosen by other numbers than their logits?
bool ranks_scores(const RowInputs& row);

/// An item's coefficient p, its exact value between value - unsure and value + unsure, and the error that the contract
/// grants it.
struct Coefficient {
  long double value = 0, unsure = 0;
  numerics::ScalarThreshold<numerics::UpperBound> granted = {};
};

/// sigmoid(x).
numerics::Enclosure sigmoid_of(double x);
///
/// threshold   of height 0
Coefficient sigmoid_coefficient(const numerics::SigmoidThreshold& threshold, double x);

/// Which items a router may choose.
class RouterChoice {
 public:
  /// coefficients   (n)
  RouterChoice(const RowInputs& row, std::span<const Coefficient> coefficients);

  /// The claim that the ids are items of groups that may have been the best, and no other item of these has a score
  /// that is larger than a chosen one's by more than the granted errors.
  ValueFinding set(std::string_view claim, std::span<const double> ids) const;
  /// The claim that no item comes after one with a smaller score.
  ValueFinding order(std::string_view claim, std::span<const double> ids) const;
  /// The exact choice: of equal scores the lowest indices.
  std::vector<std::size_t> items() const;

 private:
  struct Score {
    long double value, granted, unsure;
  };
  using Ends = std::pair<long double, long double>;
  /// The ends of what a kernel may compute: narrowed by the score's own error for side -1, widened by it for side 1.
  Ends ends(const Score& score, int side) const;
  Ends ends_of_group(std::size_t group, int side) const;
  bool may_choose(const std::vector<bool>& chosen, int side) const;
  std::size_t size() const { return scores_.size() / groups_; }

  std::vector<Score> scores_;
  std::size_t groups_ = 1, kept_ = 1, k_ = 0;
  bool pairs_ = false;
  numerics::RouterThreshold rounding_;
};

/// Sigmoids of a row's chosen items, (k), divided by their sum if the row says so.
class SigmoidElements final : public RowElements {
 public:
  /// logits   (k) of the chosen items
  SigmoidElements(const RowInputs& row, std::span<const double> logits, std::string_view claim);

  std::string_view claim() const override { return claim_; }
  numerics::Enclosure value(std::size_t a) override;
  Quick quick(std::size_t a) override;
  double threshold(std::size_t a) override { return upper(error(a).total); }
  bool is_vacuous(std::size_t a, double metric) override { return !(upper(error(a).rounding) < metric); }

 private:
  numerics::RouterError error(std::size_t a) const;

  std::string_view claim_;
  std::span<const double> logits_;
  bool divides_;
  numerics::RouterThreshold rounding_;
  std::vector<Coefficient> coefficients_;
  numerics::ScalarThreshold<numerics::UpperBound> errors_;
  long double sum_ = 0, unsure_ = 0;
  numerics::UpperBound over_chosen_;
};

/// A factor of other elements.
class ScaledElements final : public RowElements {
 public:
  ScaledElements(RowElements& elements, double factor, const numerics::Contract& contract);

  std::string_view claim() const override { return elements_.claim(); }
  numerics::Enclosure value(std::size_t a) override { return numerics::Enclosure(factor_) * elements_.value(a); }
  Quick quick(std::size_t a) override;
  double threshold(std::size_t a) override;
  bool is_vacuous(std::size_t a, double metric) override { return elements_.is_vacuous(a, metric / factor_); }

 private:
  RowElements& elements_;
  double factor_;
  numerics::RouterThreshold rounding_;
};

}  // namespace softcheck::proptests
