#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "judge/exhaustive/quick_rows.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

/// Rows that stand for all of some kind, call by call: the same calls each time, in an order that nothing changes.
class Enumeration {
 public:
  virtual ~Enumeration() = default;
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  /// "every f32 x <= 0 beside a maximum of 0, n = 2, theta = 1"
  virtual std::string name() const = 0;
  /// The least word of exp= is measured on these.
  virtual bool is_measured() const { return false; }
  virtual std::uint64_t blocks() const = 0;
  virtual RowShape shape(std::uint64_t block) const = 0;
  virtual std::size_t rows(std::uint64_t block) const = 0;
  /// Of all blocks before this one.
  std::uint64_t rows_before(std::uint64_t block) const;
  /// How many numbers a block has.
  virtual std::size_t numbers(std::uint64_t block) const { return rows(block) * shape(block).columns; }
  /// A row that is judged by enclosures though the quick test proved it, where a block is one of the samples.
  virtual std::size_t sampled_row(std::uint64_t) const { return 0; }
  /// The bytes of (rows, columns) logits; of attention those of (rows) queries, then of (columns) keys.
  virtual void fill(std::uint64_t block, std::span<std::byte> logits) const = 0;
  /// Where a block stands on a picture's axis: |x|, or 0 where it stands nowhere.
  virtual double argument(std::uint64_t) const { return 0; }

 protected:
  Enumeration() = default;
};

/// All that the effort asks of an op's kernel: for f32 and f64 logits all arguments and sums, for formats of 16 bits
/// all pairs, of 8 bits all triples, too, and all widths; of attention score_enumerations; what lies in the subject's
/// domain. docs/kernels/exhaustive.md says what each is.
///
/// skipped   appended to: what the domain leaves out
std::vector<std::unique_ptr<Enumeration>> enumerations_of(const KernelSubject& subject, const ArgumentRange& range,
                                                          std::vector<std::string>& skipped);

/// The keys of a query whose scores are enumerated, where the domain has them.
inline constexpr std::size_t usual_score_keys = 16;

/// Every product of a query and a key of one number, in formats of at most 16 bits: all keys but those that are no
/// finite number stand in calls of fifteen neighbours beside a key of 0, which is the first or the last one; each call
/// has all queries, those that are NaN among them. Then every finite query beside one key that is NaN. The values are
/// the rows of the identity, so that a query's output is its weights.
///
/// skipped   appended to: what the domain leaves out
std::vector<std::unique_ptr<Enumeration>> score_enumerations(const KernelSubject& subject, const ArgumentRange& range,
                                                             std::vector<std::string>& skipped);

}  // namespace softcheck::proptests
