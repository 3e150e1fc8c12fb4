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

/// The least word of exp= that all rows keep, with the contract's other words: the words from exp=0.125ulp to
/// exp=64ulp, each of which grants more than the one before. Where the contract's arguments err by another A than 1,
/// exp=E:e,A:a with that A.
class ExponentialLadder {
 public:
  ExponentialLadder(const KernelSubject& subject, const RowShape& shape);

  /// Rows of which the contract's own quick test found all that `found` says. Most such rows hold by the word, too.
  ///
  /// logits, got   of all rows, as QuickRows::judge takes them
  /// row, text     one of them
  void judge(const QuickRows& contract, const QuickFindings& found, std::span<const double> logits,
             std::span<const double> got, const std::function<EnumeratedRow(std::size_t)>& row,
             const std::function<std::string(std::size_t)>& text);

  /// Goes on with a ladder that reached this rung, where a row needed it.
  void restore(std::size_t rung, std::string broken_at);
  std::size_t rung() const { return rung_; }
  /// Empty where the last one allows too little.
  std::string word() const;
  /// The last row that needed a higher word; empty: none did.
  const std::string& broken_at() const { return broken_at_; }

 private:
  numerics::Contract contract_of(std::size_t rung) const;
  void set_rung(std::size_t rung);
  bool holds(const EnumeratedRow& row) const;

  const KernelSubject& subject_;
  const RowShape shape_;
  std::size_t rung_ = 0;
  std::optional<QuickRows> quick_;
  std::optional<double> part_;  // of the contract's thresholds that this word's are
  std::string broken_at_;
};

}  // namespace softcheck::proptests
