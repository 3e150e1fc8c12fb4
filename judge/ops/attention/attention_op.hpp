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

/// An op on queries, keys and values: how to make its call, and how to judge its results. Results belong to rows,
/// numbered by row_number and key_number (attention_rows.hpp).
class AttentionOp : public OpDefinition {
 public:
  using Outputs = std::vector<std::vector<double>>;  // of a call, each row-major
  /// Selects query i of head h in batch b.
  using Queries = std::function<bool(std::size_t b, std::size_t h, std::size_t i)>;
  /// The queries to judge; empty: all.
  struct Chosen {
    Queries queries = {};
    /// Results of a call that was judged completely, and the queries whose heads had the same numbers in it. Results
    /// that equal those bit for bit are not judged again.
    const Outputs* before = nullptr;
    Queries unchanged = {};

    explicit operator bool() const { return static_cast<bool>(queries); }
    bool operator()(std::size_t b, std::size_t h, std::size_t i) const { return queries(b, h, i); }
  };

  const AttentionOp* attention() const final { return this; }

  /// The case with the attributes and outputs that every call of the op has.
  virtual AttentionCase completed(AttentionCase attention) const { return attention; }

  /// The domain with the restrictions of all calls of the op.
  virtual Domain narrowed(Domain domain) const { return domain; }

  virtual TensorCall call(const AttentionTask& task, const AttentionCase& attention) const = 0;

  /// Converts the outputs of the case's call to those of a dense batch.
  virtual Outputs dense(const AttentionCase& /*attention*/, Outputs got) const { return got; }

  /// Calls each(row, verdicts) for every row that depends only on chosen queries. Rows that repeat another row bit for
  /// bit are skipped.
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
  /// Calls each() for all such results.
  virtual void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
                       const std::function<void(const Reached&)>& each) const = 0;

  /// The results that a call with this query alone also returns.
  virtual std::vector<double> results_of_query(const AttentionCase& attention, const Outputs& got,
                                               std::size_t row) const = 0;

 protected:
  using OpDefinition::OpDefinition;
  ~AttentionOp() = default;
};

}  // namespace softcheck::proptests
