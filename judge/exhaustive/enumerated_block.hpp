#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/exhaustive/enumerated_kernel.hpp"
#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/exhaustive/quick_rows.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// What the quick tests find of a block.
struct BlockFindings {
  std::vector<QuickFindings> tests;  // one or more, each of the op's claim of its place
  std::vector<double> shares;        // of each of the op's claims that rows were held to
  std::vector<std::size_t> open;     // rows that some test left open, ascending
  std::uint64_t nans = 0;            // rows that are NaN as they are to be, none of them open

  /// The test whose values used the largest part of a threshold.
  const QuickFindings& closest() const;
};

/// The rows of one call, with their numbers decoded, and their quick tests.
class EnumeratedBlock {
 public:
  virtual ~EnumeratedBlock() = default;
  EnumeratedBlock(const EnumeratedBlock&) = delete;
  EnumeratedBlock& operator=(const EnumeratedBlock&) = delete;

  /// bytes, results   outlive what is asked of the block
  virtual void read(const RowShape& shape, std::size_t rows, const BlockBytes& bytes, const BlockResults& results) = 0;
  virtual BlockFindings judge() = 0;
  /// Lives until the next row is asked for.
  virtual EnumeratedRow row(std::size_t number) = 0;
  /// The row in a statement, with the item whose share it tells.
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
  /// The next block is of another enumeration.
  void forget() { quick_.reset(); }

 private:
  const KernelSubject& subject_;
  RowShape shape_;
  std::optional<QuickRows> quick_;
  std::span<const std::byte> bytes_;
  std::vector<double> logits_, got_;
};

/// Queries of one number and the keys of a call, whose values are rows of the identity: a query's output is its
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
  /// (rows, n): of outputs that are wider than the keys the first n numbers.
  std::span<const double> weights();

  const KernelSubject& subject_;
  RowShape shape_;
  std::size_t rows_ = 0;
  std::vector<QuickRows> tests_;  // of the output, of lse and of the entropy
  BlockBytes bytes_;
  std::vector<double> queries_, keys_, scores_;
  std::vector<std::vector<double>> got_;  // of each output
  std::vector<double> weights_;           // of the output, the columns that keys have
  std::vector<double> row_logits_, row_got_;
};

}  // namespace softcheck::proptests
