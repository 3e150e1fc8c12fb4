#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// Finds the smallest word of exp= that all rows keep, with the contract's other words: from exp=0.125ulp to exp=64ulp,
/// each granting more than the one before. If the contract's A is not 1, the words are exp=E:e,A:a with that A.
class ExponentialLadder {
 public:
  ExponentialLadder(const KernelSubject& subject, const RowShape& shape);

  /// Tests rows for which the contract's own quick test gave `found`. Most of them hold by the smaller word, too.
  ///
  /// logits, got   of all rows, in the form of QuickRows::judge
  /// row, text     give one row
  void judge(const QuickRows& contract, const QuickFindings& found, std::span<const double> logits,
             std::span<const double> got, const std::function<EnumeratedRow(std::size_t)>& row,
             const std::function<std::string(std::size_t)>& text);

  /// Continues from a ladder that reached this rung, and the row that needed it.
  void restore(std::size_t rung, std::string broken_at);
  std::size_t rung() const { return rung_; }
  /// Empty if even the last rung is not enough.
  std::string word() const;
  /// The last row that needed a higher rung; empty if none did.
  const std::string& broken_at() const { return broken_at_; }

 private:
  numerics::Contract contract_of(std::size_t rung) const;
  void set_rung(std::size_t rung);
  bool holds(const EnumeratedRow& row) const;

  const KernelSubject& subject_;
  const RowShape shape_;
  std::size_t rung_ = 0;
  std::optional<QuickRows> quick_;
  std::optional<double> part_;  // the share of the contract's thresholds that the current word grants
  std::string broken_at_;
};

}  // namespace softcheck::proptests
