#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/exhaustive/enumerated_kernel.hpp"
#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// The findings of the quick tests for a block.
struct BlockFindings {
  std::vector<QuickFindings> tests;  // at least one; in the order of the op's claims
  std::vector<double> shares;        // for each of the op's claims that was tested
  std::vector<std::size_t> open;     // rows that some test could not prove, ascending
  std::uint64_t nans = 0;            // rows that must be NaN and are; none of them is open

  /// The test whose values used the largest share of a threshold.
  const QuickFindings& closest() const;
};

/// The decoded rows of one call, and their quick tests.
class EnumeratedBlock {
 public:
  virtual ~EnumeratedBlock() = default;
  EnumeratedBlock(const EnumeratedBlock&) = delete;
  EnumeratedBlock& operator=(const EnumeratedBlock&) = delete;

  /// bytes, results   must stay valid while the block is used
  virtual void read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) = 0;
  virtual BlockFindings judge() = 0;
  /// The row is valid until the next call.
  virtual EnumeratedRow row(std::size_t number) = 0;
  /// The row's text for a statement, including the item whose share it states.
  virtual std::string text(std::size_t number, std::optional<std::size_t> item) = 0;

 protected:
  EnumeratedBlock() = default;
};

/// Rows of logits.
class LogitsBlock final : public EnumeratedBlock {
 public:
  explicit LogitsBlock(const KernelSubject& subject) : subject_(subject) {}

  void read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) override;
  BlockFindings judge() override;
  EnumeratedRow row(std::size_t number) override;
  std::string text(std::size_t number, std::optional<std::size_t> item) override;

  const QuickRows& quick() const { return *quick_; }
  std::span<const double> logits() const { return logits_; }
  std::span<const double> got() const { return got_; }
  /// The next block belongs to another enumeration.
  void forget() { quick_.reset(); }

 private:
  const KernelSubject& subject_;
  RowShape shape_;
  std::optional<QuickRows> quick_;
  std::span<const std::byte> bytes_;
  std::vector<double> logits_, got_;
};

/// One-number queries, and the keys of the call. The values are rows of the identity, so a query's output is its
/// weights.
class ScoresBlock final : public EnumeratedBlock {
 public:
  explicit ScoresBlock(const KernelSubject& subject) : subject_(subject) {}

  void read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) override;
  BlockFindings judge() override;
  EnumeratedRow row(std::size_t number) override;
  std::string text(std::size_t number, std::optional<std::size_t> item) override;

 private:
  void set_tests(const RowShape& shape);
  bool is_nan(std::size_t number) const;
  /// (rows, n): the first n numbers of each output row, which may be wider.
  std::span<const double> weights();

  const KernelSubject& subject_;
  RowShape shape_;
  std::size_t rows_ = 0;
  std::vector<QuickRows> tests_;  // of the output, lse and the entropy
  BlockBytes bytes_;
  std::vector<double> queries_, keys_, scores_;
  std::vector<std::vector<double>> got_;  // per output
  std::vector<double> weights_;           // the output's first n columns
  std::vector<double> row_logits_, row_got_;
};

}  // namespace softcheck::proptests
