#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/op/op.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_poison.hpp"

namespace softcheck::proptests {

/// An op of queries, keys and values: what one call of it is, and how its results are judged. Results belong to rows,
/// numbered as row_number and key_number do (attention_rows.hpp).
class AttentionOp : public OpDefinition {
 public:
  using Outputs = std::vector<std::vector<double>>;  // of a call, each row-major
  /// Is query i of head h, in batch b, one of those meant?
  using Queries = std::function<bool(std::size_t b, std::size_t h, std::size_t i)>;
  /// The queries to judge, or all.
  struct Chosen {
    Queries queries = {};
    /// Results of a call that was judged as a whole, and the queries whose heads had the same numbers there: what
    /// repeats those results bit for bit has no verdicts of its own.
    const Outputs* before = nullptr;
    Queries unchanged = {};

    explicit operator bool() const { return static_cast<bool>(queries); }
    bool operator()(std::size_t b, std::size_t h, std::size_t i) const { return queries(b, h, i); }
  };

  const AttentionOp* attention() const final { return this; }

  virtual TensorCall call(const AttentionTask& task, const AttentionCase& attention) const = 0;

  /// Outputs of a call of the case as those of a dense batch.
  virtual Outputs dense(const AttentionCase& /*attention*/, Outputs got) const { return got; }

  /// Calls each(row, verdicts) for the rows of which all that they depend on was chosen; without a choice for all. A
  /// row that repeats another bit for bit has no verdicts of its own.
  virtual void judge(const AttentionTask& task, const AttentionCase& attention, const Outputs& got,
                     const Chosen& chosen,
                     const std::function<void(std::size_t row, RowVerdicts verdicts)>& each) const = 0;

  /// A result that a NaN must have reached.
  struct Reached {
    std::size_t row;
    std::optional<std::size_t> item;  // none: a value of the whole row
    double value;
    numerics::Format format;
  };
  /// Calls each() for all of them.
  virtual void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
                       const std::function<void(const Reached&)>& each) const = 0;

  /// The results that a call of one query alone has, too.
  virtual std::vector<double> results_of_query(const AttentionCase& attention, const Outputs& got,
                                               std::size_t row) const = 0;

 protected:
  using OpDefinition::OpDefinition;
  ~AttentionOp() = default;
};

}  // namespace softcheck::proptests
