#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "judge/inference/contract_probes.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// How much an inferred contract grants beyond the dtype's own arithmetic.
struct ContractGrade {
  std::vector<std::string> weaker;  // its words that grant more: "weights=bf16"; empty: own arithmetic
  std::size_t rows = 0;             // compared with both contracts, with and without these words
  std::size_t needing = 0;          // rows that break the contract without them
  double others_share = 0;          // largest share of the contract's thresholds that any other row used
  /// Expected number of rows that need the words if the kernel computes so, and the number that did.
  double expected = 0;
  double seen = 0;

  bool is_own() const { return weaker.empty(); }
  /// Do at least half as many rows need the words as expected? If not, the words may hide a bug, or the kernel computes
  /// so in few rows only.
  bool is_plausible() const { return is_own() || 2 * seen >= expected; }
  /// "weights=bf16 acc=f16"
  std::string words() const;
  /// "pass, as f32's own arithmetic allows", "pass only as weights=bf16 (3581 of 3584 rows need it, the others use at
  /// most 0.001 of its thresholds)", "undecided, a bug or an unusual contract: passes only as ..."
  std::string text(numerics::Format dtype) const;
};

/// Compares each row with the contract and with the one without its weaker words.
///
/// sets   rows of random values; those that show a word best decide whether it is plausible
ContractGrade grade_of(std::vector<std::string> weaker, const numerics::Contract& found, const numerics::Contract& own,
                       const std::vector<const ProbeSet*>& sets);

}  // namespace softcheck::proptests
