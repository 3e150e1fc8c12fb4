#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/rounding/contract.hpp"

/// What the extracted judge is asked (theory/proofs/judge/declared_contract.v): one value of one row, the contract's
/// numbers as kept_contract.v names them, and its word sum=, of which the judge computes height and rescalings itself.
/// docs/proofs.md, "Accusations as theorems", derives which number is which.
namespace softcheck::proptests {

/// The contract's own numbers, or upper bounds of them: a larger number accuses less. All are exactly doubles.
struct JudgeNumbers {
  double accumulator_roundoff = 0;  // u
  double exponential_error = 0;     // E u
  double logarithm_error = 0;       // E_l u
  double argument_roundings = 0;    // A'
  double argument_extra = 0;        // unit roundoff of one more, of a reciprocal made in double
  double difference_loss = 0;       // absolute, of an argument, each time a difference is taken
  double sum_loss = 0;              // omega_a
  double product_loss = 0;          // omega_m
  double exponential_loss = 0;      // omega_x
  double last_argument = 0;         // D_0
  double conversion_error = 0;      // kappa
  double scaling_error = 0;         // g
  double reciprocal_loss = 0;       // r
  double result_roundoff = 0;       // u_out
  double result_loss = 0;           // what underflow in the output takes
  double smallest_number = 0;       // of the accumulator
  std::string sum = "sequential";   // sequential, tree, lanes:K or blocks:K

  /// The numbers, by the names that the judge reads.
  std::vector<std::pair<std::string, double>> named() const;
};

/// Of a row with a visible item, no +inf and no NaN; its masked items are -inf.
///
/// throws   std::invalid_argument for words of which judge_question says that no theorem covers them
JudgeNumbers judge_numbers(const numerics::Contract& contract, std::span<const double> logits, double theta);

/// The lines "contract ..." and "row ..." of a question; the row has its masked items, since they count in its length.
std::string judge_contract_line(const JudgeNumbers& numbers);
std::string judge_row_line(std::span<const double> logits, double theta, unsigned bits);

/// The line that asks for one value: of the item at a logit, or of the row.
std::string judge_value_line(Op op, std::optional<double> logit, double output);

/// Why the extracted judge has no theorem about values of this op under this contract, at this temperature; empty where
/// it has.
std::string outside_the_theorems(Op op, const numerics::Contract& contract, double theta);

}  // namespace softcheck::proptests
