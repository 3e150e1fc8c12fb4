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

/// One row of a call. Items that are not there are logits of -inf.
struct RowInputs {
  const numerics::Contract& contract;
  std::span<const double> logits;  // (n) of the first input
  double theta = 1;
  std::span<const std::vector<double>> auxiliary =
      {};  // of the other inputs: (n) or (1), () of one that the call lacks
  Attributes attributes = {};
  const CountedWeights* counted = nullptr;  // of an op of whole calls
};

/// All rows of a call, for an op that looks at them together.
struct CallOfRows {
  const numerics::Contract& contract;
  Attributes attributes;
  /// Calls a function with each row in order, as often as it is asked to; a row's numbers live until that returns.
  std::function<void(const std::function<void(const RowInputs&)>&)> each;
};

/// With what a kernel made of it.
struct JudgedRow : RowInputs {
  std::span<const double> got;  // (n), or (1) of an op with one value per row
};

/// An op of rows. A new one gives its elements (row_elements.hpp) and is judged, shown and inferred by them; the ops
/// that have something quicker override what follows from them.
class RowOp : public OpDefinition {
 public:
  const RowOp* rows() const final { return this; }

  /// The values of all inputs for a row of drawn logits; the first input's first. Nothing for one that the call lacks;
  /// of an input of classes the same for all rows of a call.
  ///
  /// format   of the numbers beside the drawn row
  /// auxiliary   any number stands for other inputs beside the same logits (RowCase::auxiliary); 0 is the simplest
  virtual std::vector<std::vector<double>> input_values(numerics::Format format, std::span<const double> logits,
                                                        std::uint64_t auxiliary) const;

  /// The attributes of a call of rows of n items. They follow from n and the low six bits of the number, which all rows
  /// of a call share.
  virtual Attributes attributes(std::uint64_t, std::size_t) const { return {}; }

  /// Has the call its input k, if that is optional? Follows from the same six bits.
  virtual bool has_input(std::size_t, std::uint64_t) const { return true; }

  /// The bits of RowCase::auxiliary that no call of the domain may have, and those that every one has.
  virtual std::uint64_t closed_auxiliaries(const Domain&) const { return 0; }
  virtual std::uint64_t set_auxiliaries(const Domain&) const { return 0; }

  /// Numbers of a vector (Extent::vectors) beside a row of n items.
  virtual std::size_t width(std::size_t, std::uint64_t) const { return 0; }
  /// The same number for a width of at most that, where there is one: a call of very many rows has no wide ones.
  virtual std::uint64_t narrowed(std::size_t, std::uint64_t auxiliary, std::size_t) const { return auxiliary; }
  /// The same of a row at hand: by default of its inputs' vectors.
  virtual std::size_t width_of(const RowInputs& row) const;
  /// Values of all outputs for a row of n items.
  std::size_t values(std::size_t n, std::uint64_t auxiliary) const;

  /// Is the row's label the one to ignore? All its values are 0, even if a logit is NaN.
  virtual bool ignores(const RowInputs&) const { return false; }

  /// Of an op of whole calls: the weight with which a row counts; nothing where its label is ignored.
  virtual std::optional<double> weight_in_call(const RowInputs&) const { return std::nullopt; }

  /// Of an op with one value for a call: that value and its threshold. The call outlives them.
  ///
  /// call   a row of it counts, none that counts holds a NaN or an infinity, and a divisor is not 0
  virtual std::unique_ptr<RowElements> call_elements(const CallOfRows& call) const;

  /// The exact values of a row and their thresholds. The inputs outlive them.
  ///
  /// row   at least one finite logit, no +inf; NaN only under NanReach::item, and then no caller asks for that item
  virtual std::unique_ptr<RowElements> elements(const RowInputs& row) const;

  /// How rows of all arguments are judged quickly (--effort exhaustive); nothing for an op that has no such effort.
  virtual const ArgumentForm* arguments() const { return nullptr; }

  /// One finding for each claim, of the element that used most of its threshold.
  virtual void judge(const JudgedRow& row, RowVerdicts& verdicts) const;

  /// The exact values, each between two doubles: at most four doubles apart, but where terms cancel beyond 512 bits.
  virtual void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const;

  /// What the contract grants each value: 0 where it must be exact, infinite where nothing is promised.
  virtual void grant(const RowInputs& row, std::span<double> allowed) const;

  /// Of a projection: how far below so many equal largest items the support ends.
  virtual std::optional<double> edge_of_support(double) const { return std::nullopt; }

  /// The value of a masked item, and of every value of a row with nothing visible under masked=zero.
  virtual double nothing() const { return 0; }
  /// Value i of count is what masked= says where nothing is visible, or nothing_at() whatever that says.
  virtual bool has_masked_value(std::size_t, std::size_t) const { return traits.answers.masked_rows; }
  virtual double nothing_at(std::size_t, std::size_t) const { return nothing(); }

  /// Each value of a row of n items with nothing visible under masked=uniform: that of n equal logits.
  virtual numerics::Enclosure uniform(std::uint64_t n) const;

 protected:
  using OpDefinition::OpDefinition;
  ~RowOp() = default;
};

}  // namespace softcheck::proptests
