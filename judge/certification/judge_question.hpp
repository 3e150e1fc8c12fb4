#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/rounding/contract.hpp"

/// Questions for the extracted judge (theory/proofs/judge/declared_contract.v): one value of a row, the contract's
/// numbers by their names in kept_contract.v, and its word sum=, from which the judge computes height and rescalings.
/// docs/proofs.md, "Accusations as theorems", derives the numbers.
namespace softcheck::proptests {

/// The contract's own numbers or upper bounds of them: a larger number accuses less. All are exact doubles.
struct JudgeNumbers {
  double accumulator_roundoff = 0;  // u
  double exponential_error = 0;     // E u
  double logarithm_error = 0;       // E_l u
  double argument_roundings = 0;    // A'
  double argument_extra = 0;        // unit roundoff of one more rounding: a reciprocal computed in double
  double difference_loss = 0;       // absolute, per difference in an argument
  double sum_loss = 0;              // omega_a
  double product_loss = 0;          // omega_m
  double exponential_loss = 0;      // omega_x
  double last_argument = 0;         // D_0
  double conversion_error = 0;      // kappa
  double scaling_error = 0;         // g
  double reciprocal_loss = 0;       // r
  double result_roundoff = 0;       // u_out
  double result_loss = 0;           // absolute loss by underflow in the output
  double smallest_number = 0;       // the accumulator's
  std::string sum = "sequential";   // sequential, tree, lanes:K or blocks:K

  /// The numbers with the names that the judge reads.
  std::vector<std::pair<std::string, double>> named() const;
};

/// For a row with a visible item, and without +inf and NaN; masked items are -inf.
///
/// throws   std::invalid_argument for words that no theorem covers (outside_the_theorems)
JudgeNumbers judge_numbers(const numerics::Contract& contract, std::span<const double> logits, double theta);

/// The lines "contract ..." and "row ..." of a question. The row includes masked items, since they count in its length.
std::string judge_contract_line(const JudgeNumbers& numbers);
std::string judge_row_line(std::span<const double> logits, double theta, unsigned bits);

/// The line that asks about one value: of the item with this logit, or of the row.
std::string judge_value_line(Op op, std::optional<double> logit, double output);

/// The reason why the extracted judge has no theorem for this op, contract and temperature; empty if it has one.
std::string outside_the_theorems(Op op, const numerics::Contract& contract, double theta);

}  // namespace softcheck::proptests
