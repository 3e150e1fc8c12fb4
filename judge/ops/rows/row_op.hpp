#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/verdict/counted_weights.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

class RowElements;
struct ArgumentForm;

/// One row of a call. Masked items are logits of -inf.
struct RowInputs {
  const numerics::Contract& contract;
  std::span<const double> logits;  // (n), of the first input
  double theta = 1;
  std::span<const std::vector<double>> auxiliary =
      {};  // the other inputs: (n) or (1) each, () for one that the call omits
  Attributes attributes = {};
  const CountedWeights* counted = nullptr;  // for ops of whole calls
};

/// All rows of a call, for ops that read them together.
struct CallOfRows {
  const numerics::Contract& contract;
  Attributes attributes;
  /// Calls a function with each row in order, as often as requested. A row's numbers are valid until the function
  /// returns.
  std::function<void(const std::function<void(const RowInputs&)>&)> each;
};

/// A row with the kernel's results.
struct JudgedRow : RowInputs {
  std::span<const double> got;  // (n), or (1) for ops with one value per row
};

/// An op on rows. A new op implements elements() (row_elements.hpp), from which judging, exact values and inference
/// follow; ops with quicker ways override them.
class RowOp : public OpDefinition {
 public:
  const RowOp* rows() const final { return this; }

  /// The values of all inputs for a row of drawn logits, the first input's first. Empty for an input that the call
  /// omits. An input of classes has the same values in all rows of a call.
  ///
  /// format      of the inputs other than the drawn row
  /// auxiliary   selects the other inputs (RowCase::auxiliary); any number is valid, 0 is the simplest
  virtual std::vector<std::vector<double>> input_values(numerics::Format format, std::span<const double> logits,
                                                        std::uint64_t auxiliary) const;

  /// The attributes of a call with rows of n items. They depend on n and the low six bits of the number, which all rows
  /// of a call share.
  virtual Attributes attributes(std::uint64_t, std::size_t) const { return {}; }

  /// Does the call have the optional input k? Depends on the same six bits.
  virtual bool has_input(std::size_t, std::uint64_t) const { return true; }

  /// The bits of RowCase::auxiliary that a domain excludes, and the bits that it requires.
  virtual std::uint64_t closed_auxiliaries(const Domain&) const { return 0; }
  virtual std::uint64_t set_auxiliaries(const Domain&) const { return 0; }

  /// Numbers per vector (Extent::vectors) for a row of n items.
  virtual std::size_t width(std::size_t, std::uint64_t) const { return 0; }
  /// The same number with a width of at most the given one, if possible: a call of very many rows has narrow vectors.
  virtual std::uint64_t narrowed(std::size_t, std::uint64_t auxiliary, std::size_t) const { return auxiliary; }
  /// The width of a given row, by default from its inputs' vectors.
  virtual std::size_t width_of(const RowInputs& row) const;
  /// Number of values of all outputs for a row of n items.
  std::size_t values(std::size_t n, std::uint64_t auxiliary) const;

  /// Is the row's label the ignored one? Then all its values are 0, even if a logit is NaN.
  virtual bool ignores(const RowInputs&) const { return false; }

  /// What is due for a row whose first input holds -inf, if that is a number of the op (saved_logarithms): its values,
  /// an infinite one, or nothing, where kernels differ.
  enum class Due { values, infinity, nothing };
  virtual Due due(const RowInputs&) const { return Due::values; }

  /// For ops of whole calls: the row's weight; nothing if its label is ignored.
  virtual std::optional<double> weight_in_call(const RowInputs&) const { return std::nullopt; }

  /// For ops with one value per call: that value and its threshold. The call must outlive them.
  ///
  /// call   counts at least one row; no counted row holds a NaN or an infinity, and a divisor is not 0
  virtual std::unique_ptr<RowElements> call_elements(const CallOfRows& call) const;

  /// The exact values of a row and their thresholds. The inputs must outlive them.
  ///
  /// row   at least one finite logit, no +inf. A NaN only with NanReach::item; callers then skip that item
  virtual std::unique_ptr<RowElements> elements(const RowInputs& row) const;

  /// How to judge rows of all arguments quickly (--effort exhaustive); null if the op does not support that effort.
  virtual const ArgumentForm* arguments() const { return nullptr; }

  /// Adds one finding per claim, for the element that used most of its threshold.
  virtual void judge(const JudgedRow& row, RowVerdicts& verdicts) const;

  /// The exact values, each between two doubles at most four doubles apart, except if terms cancel beyond 512 bits.
  virtual void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const;

  /// The threshold of each value: 0 if it must be exact, infinite if nothing is promised.
  virtual void grant(const RowInputs& row, std::span<double> allowed) const;

  /// For a projection: how far the support's end lies below this many equal largest items.
  virtual std::optional<double> edge_of_support(double) const { return std::nullopt; }

  /// The value of a masked item, and of all values of a fully masked row with masked=zero.
  virtual double nothing() const { return 0; }
  /// Does masked= define value i (of count) of a fully masked row? If not, it must be nothing_at().
  virtual bool has_masked_value(std::size_t, std::size_t) const { return traits.answers.masked_rows; }
  virtual double nothing_at(std::size_t, std::size_t) const { return nothing(); }

  /// Each value of a fully masked row of n items with masked=uniform: that of n equal logits.
  virtual numerics::Enclosure uniform(std::uint64_t n) const;

 protected:
  using OpDefinition::OpDefinition;
  ~RowOp() = default;
};

}  // namespace softcheck::proptests
