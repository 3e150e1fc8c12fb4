#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/results/task_rows.hpp"
#include "judge/results/tensor_judge.hpp"

namespace softcheck::proptests {

/// What a report says of one judged row.
struct ReportedRow {
  std::string index;  // "[3, 17]"; of an op of several outputs with what it is of: "dk[0, 1, 3]"
  std::string of;     // that: an output's name, or "query", "key"; empty where there is one output
  std::string claim;
  std::optional<std::size_t> item;
  std::optional<double> logit;  // of that item, where rows of logits are judged
  double got = 0;
  std::optional<double> lower, upper;  // of the exact value; empty where it is NaN
  std::optional<double> ulps;          // none where the error has no size
  double share = 0;
  std::string verdict;  // "fail"
  std::string due;      // the expected value where it is not a number: "NaN"
  std::string reason;   // the rule that a value broke which no threshold excuses
  numerics::Format format = numerics::Format::f32, format_of_ulps = numerics::Format::f32;
};

/// outputs   those that were judged; they say which format row scalars have
ReportedRow reported_row(const JudgedTensorRow& row, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs);

/// A tensor as a report names it.
struct ReportedTensor {
  std::string role;   // "logits"
  std::string place;  // "x.npy", or where else it stands
  const GivenTensor* tensor = nullptr;
};

/// ", theta 0.7" or ", scale 0.125, causal": what the task has beside its tensors; empty where that says nothing.
std::string parameters_text(const TensorTask& task);

/// Neighbouring rows, the last included.
struct RowRun {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Where the rows that fail stand, in order: to the row where the worst rows hold them all or the profile has one
/// stretch for each, else the stretches in which one fails.
std::vector<RowRun> failing_runs(const TensorJudgement& judgement, const TensorTask& task);

/// The same for a reader: "512 of 4096 rows fail: rows 512 to 1023"; empty where none does.
std::string failing_text(const TensorJudgement& judgement, const TensorTask& task);

/// The tensors, each with its role, place, dtype and shape, a line each.
std::string tensors_text(std::span<const ReportedTensor> tensors);

/// The worst rows as a table: where, what was got and what is exact, the error, and the share of the threshold; empty
/// where no row was judged.
///
/// reported_rows   so many of them at most
std::string worst_text(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                       std::span<const GivenTensor> outputs, std::size_t reported_rows);

/// to_json of the claims with all else that is known: "op", "contract", "theta", "scale", "causal", "tensors":
/// [{"role", "place", "dtype", "shape"}], "rows": {"all", "judged", "failed", "failing": [[first, last]]}, "worst":
/// [{"row", "of", "claim", "verdict", "item", "logit", "got", "got_text", "expected": [lower, upper], "ulps", "share",
/// "reason"}], "profile" (null: infinite), "histogram": {"bin_width", "rows"}, "ended_early", "seconds".
std::string tensors_json(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs, std::span<const ReportedTensor> tensors,
                         std::size_t reported_rows);

/// How much of their thresholds results used, as an SVG picture on white that needs no program to draw: above, the
/// largest share in each stretch of rows beside the threshold itself; below, how many rows used so much.
std::string slack_picture(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract);

}  // namespace softcheck::proptests
