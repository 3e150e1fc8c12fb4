#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/contract.hpp"
#include "numerics/rounding/rounding_topk.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// The attributes of a call with rows of n items; k and renormalize from the low six bits of RowCase::auxiliary: k is 1
/// to 16, some larger number, n, n - 1 or half of n, and at most n.
Attributes drawn_choice(std::uint64_t auxiliary, std::size_t n);
/// RowOp::closed_auxiliaries and set_auxiliaries for the domain's words.
std::uint64_t closed_choices(const Domain& domain);
std::uint64_t set_choices(const Domain& domain);

/// The items that a kernel chose, and whether the contract allows the choice.
class TopkChoice {
 public:
  /// logits   (n) finite or -inf, at least one finite
  /// ids      (k), 1 <= k <= n, as the kernel wrote them
  /// claims   string literals
  TopkChoice(std::span<const double> logits, std::span<const double> ids, std::string_view set_claim,
             std::string_view order_claim);

  /// A number that is no item's index, or a repeated index. The other functions need that there is none.
  std::optional<ValueFinding> wrong_index() const;
  std::vector<std::size_t> items() const;  // (k)
  std::vector<double> logits() const;      // (k), of the items

  /// The claim that no unchosen item has a larger logit than a chosen one, up to the granted errors; with ties=lowest,
  /// of equal logits the lowest indices are chosen.
  ValueFinding set(const numerics::Contract& contract,
                   const numerics::TopkThreshold<numerics::UpperBound>& granted) const;
  /// The same claim for the order of the chosen items.
  ValueFinding order(const numerics::Contract& contract,
                     const numerics::TopkThreshold<numerics::UpperBound>& granted) const;

 private:
  ValueFinding finding(std::string_view claim, std::size_t place, numerics::Decision decision,
                       std::string_view reason = {}) const;
  /// May a kernel rank the lower logit at least as high as the higher one?
  numerics::Decision exchanged(double higher, double lower,
                               const numerics::TopkThreshold<numerics::UpperBound>& granted) const;
  std::optional<std::size_t> broken_tie() const;

  std::span<const double> logits_, ids_;
  std::string_view set_claim_, order_claim_;
  double maximum_;
};

}  // namespace softcheck::proptests
