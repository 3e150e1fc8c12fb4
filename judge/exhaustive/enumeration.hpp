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

/// All rows of some kind, call by call, always the same calls in the same order.
class Enumeration {
 public:
  virtual ~Enumeration() = default;
  Enumeration(const Enumeration&) = delete;
  Enumeration& operator=(const Enumeration&) = delete;

  /// "every f32 x <= 0 beside a maximum of 0, n = 2, theta = 1"
  virtual std::string name() const = 0;
  /// Is the smallest word of exp= measured on these rows?
  virtual bool is_measured() const { return false; }
  virtual std::uint64_t blocks() const = 0;
  virtual RowShape shape(std::uint64_t block) const = 0;
  virtual std::size_t rows(std::uint64_t block) const = 0;
  /// Number of rows in all earlier blocks.
  std::uint64_t rows_before(std::uint64_t block) const;
  /// How many numbers fill() writes for a block.
  virtual std::size_t numbers(std::uint64_t block) const { return rows(block) * shape(block).columns; }
  /// The row of a sample block that enclosures judge even if the quick test proved it.
  virtual std::size_t sampled_row(std::uint64_t) const { return 0; }
  /// Writes the bytes of (rows, columns) logits; for attention those of (rows) queries, then (columns) keys.
  virtual void fill(std::uint64_t block, std::span<std::byte> logits) const = 0;
  /// The block's position on a picture's axis: |x|, or 0 if it has none.
  virtual double argument(std::uint64_t) const { return 0; }

 protected:
  Enumeration() = default;
};

/// All enumerations for an op's kernel: for f32 and f64 logits all arguments and sums; for 16-bit formats all pairs;
/// for 8-bit formats all triples, too; all widths; for attention score_enumerations. Only those in the subject's
/// domain. docs/kernels/exhaustive.md describes each.
///
/// skipped   receives what the domain leaves out
std::vector<std::unique_ptr<Enumeration>> enumerations_of(const KernelSubject& subject, const ArgumentRange& range,
                                                          std::vector<std::string>& skipped);

/// The number of keys per query in enumerations of scores, if the domain allows it.
inline constexpr std::size_t usual_score_keys = 16;

/// Every product of a one-number query and a one-number key, in formats of at most 16 bits. Each call has fifteen
/// neighbouring finite keys and a key of 0, which comes first or last, and all queries, including NaNs. Then every
/// finite query with one NaN key. The values are the rows of the identity, so a query's output is its weights.
///
/// skipped   receives what the domain leaves out
std::vector<std::unique_ptr<Enumeration>> score_enumerations(const KernelSubject& subject, const ArgumentRange& range,
                                                             std::vector<std::string>& skipped);

}  // namespace softcheck::proptests
