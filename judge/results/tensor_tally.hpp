#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/ops/rows/row_judge.hpp"
#include "judge/results/tensor_judge.hpp"
#include "judge/verdict/value_certificate.hpp"

namespace softcheck::proptests {

/// Rows of one kind, row-major over the leading dimensions of their outputs.
struct RowBlock {
  std::string_view kind;  // a string literal: "row", "query", "key", "sinks", "bias"
  std::vector<std::int64_t> shape;
};

/// The rows of a task: the leading dimensions of the first input. For attention's gradient those of q, then of k, then
/// the sinks and the rows of the bias if the caller has their gradients.
std::vector<RowBlock> row_blocks(const TensorTask& task);

/// Number of rows.
std::size_t rows_of_task(const TensorTask& task);

struct RowPlace {
  std::string_view kind;
  std::vector<std::int64_t> index;
  std::size_t number = 0;  // in its block
};
/// throws   std::out_of_range if there is no such row
RowPlace place_of_row(const std::vector<RowBlock>& blocks, std::size_t row);

/// "[0, 2, 17]"
std::string list_text(const std::vector<std::int64_t>& index);

/// The output that a claim is about: "dk", "weights"; empty if the op has one output, or the claim is about several.
std::string_view output_of_claim(Op op, std::string_view claim);

/// The finding about a value that is judged by its kind, without a threshold.
///
/// claim, reason   string literals; the reason is used if the value is wrong
ValueFinding identity_finding(std::string_view claim, bool holds, double got, std::optional<std::size_t> item,
                              std::string_view reason);

/// The first number among values that must all be NaN; the first `elements` values are elements of the output.
ValueFinding nan_finding(std::span<const double> got, std::size_t elements, std::string_view reason);

/// Collects the findings of a task's rows.
class TensorTally {
 public:
  /// scalars    format of row scalars in other outputs; unused if there are none
  /// options    must outlive this object, like the task and the contract
  TensorTally(const TensorTask& task, const numerics::Contract& contract, numerics::Format scalars,
              const TensorOptions& options);

  /// Adds the findings of a row; rows come in ascending order.
  void add(std::size_t row, RowVerdicts verdicts);
  /// Adds a row that quick_softmax proved.
  ///
  /// returns   false, without counting it, if the row must be listed among the worst: then call add()
  bool add_quick(std::size_t row, const QuickRow& quick);
  /// Counts a row that is not judged, with the reason.
  void skip(const std::string& why) { ++skipped_[why]; }
  /// Reports the progress now and then, and asks whether to continue.
  ///
  /// done      rows so far
  /// returns   false if the work must end
  bool goes_on(std::size_t done);
  /// Runs the judging of rows. The caller can also interrupt it within a row, which may take minutes.
  void run(const std::function<void()>& judge_rows);

  TensorJudgement judgement() const;

 private:
  struct OfClaim {
    std::size_t cases = 0;
    std::size_t failed = 0;
    ErrorStatistics errors;
    ValueFinding worst;
    std::size_t row = 0;
    double share = 0;
    bool has_errors = false;
  };
  void add_finding(std::size_t row, ValueFinding finding, double share);
  void add_quick_claim(std::size_t row, std::string_view claim, double share, const ErrorSums& errors);
  void count_row(std::size_t row, double largest_share);
  void add_to_worst(std::size_t row, const ValueFinding& finding, double share);
  std::string name_of(std::size_t row) const;
  ReportRow row_of(std::string_view claim, const OfClaim& of) const;
  ReportRow whole(const TensorJudgement& judgement) const;
  /// The reasons why a judgement without failures is vacuous; empty if it is not.
  std::vector<std::string> reasons_for_vacuity() const;
  numerics::Format format_of(std::string_view claim) const;

  const TensorTask& task_;
  const numerics::Contract& contract_;
  numerics::Format scalars_;
  std::vector<RowBlock> blocks_;
  std::size_t rows_;
  const TensorOptions& options_;
  std::map<std::string_view, OfClaim> claims_;
  std::map<std::string_view, std::size_t> broken_exempt_;
  std::map<std::string, std::size_t> skipped_;
  std::size_t undecided_ = 0;
  std::optional<std::size_t> unbounded_row_;  // the first one with an infinite threshold
  TensorJudgement judgement_;
  struct Reported {
    std::size_t row;
    ValueFinding finding;
    double share;
  };
  std::vector<Reported> worst_;  // sorted, worst first
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), last_progress_ = start_;
  std::size_t done_ = 0;  // rows
};

}  // namespace softcheck::proptests
