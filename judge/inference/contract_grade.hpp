#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/inference/contract_probes.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// How much a contract that --infer found grants beyond the dtype's own arithmetic.
struct ContractGrade {
  std::vector<std::string> weaker;  // its words that grant more: "weights=bf16"; none: own arithmetic
  std::size_t rows = 0;             // that were compared with the contract and with the one without these words
  std::size_t needing = 0;          // of these, rows that break the latter
  double others_share = 0;          // of the contract's thresholds, the largest that any other row used
  /// Rows in which the words would show if the kernel computed so, and how many of them need the words.
  double expected = 0;
  double seen = 0;

  bool is_own() const { return weaker.empty(); }
  /// Do half as many rows need the words as would if the kernel computed so? Else the words hide a bug, or a kernel
  /// that computes so in few rows: there is no telling.
  bool is_plausible() const { return is_own() || 2 * seen >= expected; }
  /// "weights=bf16 acc=f16"
  std::string words() const;
  /// "pass, as f32's own arithmetic allows", "pass only as weights=bf16 (3581 of 3584 rows need it, the others use at
  /// most 0.001 of its thresholds)", "undecided, a bug or an unusual contract: passes only as ..."
  std::string text(numerics::Format dtype) const;
};

/// Compares each row with the contract and with the one without its weaker words.
///
/// sets   rows of random values; those where a word shows best decide whether it is plausible
ContractGrade grade_of(std::vector<std::string> weaker, const numerics::Contract& found, const numerics::Contract& own,
                       const std::vector<const ProbeSet*>& sets);

}  // namespace softcheck::proptests
