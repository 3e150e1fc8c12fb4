#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/results/tensor_judge.hpp"
#include "judge/results/tensor_tally.hpp"

namespace softcheck::proptests {

/// A judged row in a report.
struct ReportedRow {
  std::string index;  // "[3, 17]"; for ops with several outputs "dk[0, 1, 3]"
  std::string of;     // the output's name, "query" or "key"; empty if there is one output
  std::string claim;
  std::optional<std::size_t> item;
  std::optional<double> logit;  // of that item, for rows of logits
  double got = 0;
  std::optional<double> lower, upper;  // of the exact value; empty if it is NaN
  std::optional<double> ulps;          // none if the error has no size
  double share = 0;
  std::string verdict;  // "fail"
  std::string due;      // the expected value if it is not a number: "NaN"
  std::string reason;   // the broken rule, if it was no threshold
  numerics::Format format = numerics::Format::f32, format_of_ulps = numerics::Format::f32;
};

/// outputs   the judged ones; they decide the format of row scalars
ReportedRow reported_row(const JudgedTensorRow& row, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs);

/// A tensor in a report.
struct ReportedTensor {
  std::string role;   // "logits"
  std::string place;  // "x.npy", or another place
  const GivenTensor* tensor = nullptr;
};

/// The task's parameters, ", theta 0.7" or ", scale 0.125, causal"; empty if all have their defaults.
std::string parameters_text(const TensorTask& task);

/// A run of rows, last included.
struct RowRun {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The runs of failing rows, in order. Exact if the worst rows include all failing ones, or if the profile has one
/// stretch per row; else the stretches with a failing row.
std::vector<RowRun> failing_runs(const TensorJudgement& judgement, const TensorTask& task);

/// The same as text: "512 of 4096 rows fail: rows 512 to 1023"; empty if none fails.
std::string failing_text(const TensorJudgement& judgement, const TensorTask& task);

/// One line per tensor: role, place, dtype and shape.
std::string tensors_text(std::span<const ReportedTensor> tensors);

/// The worst rows as a table: index, returned and exact value, error, and share of the threshold; empty if no row was
/// judged.
///
/// reported_rows   at most this many
std::string worst_text(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                       std::span<const GivenTensor> outputs, std::size_t reported_rows);

/// to_json of the claims, with "op", "contract", "theta", "scale", "causal", "tensors": [{"role", "place", "dtype",
/// "shape"}], "rows": {"all", "judged", "failed", "failing": [[first, last]]}, "worst": [{"row", "of", "claim",
/// "verdict", "item", "logit", "got", "got_text", "expected": [lower, upper], "ulps", "share", "reason"}], "profile"
/// (null: infinite), "histogram": {"bin_width", "rows"}, "ended_early", "seconds".
std::string tensors_json(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs, std::span<const ReportedTensor> tensors,
                         std::size_t reported_rows);

/// An SVG picture of the used shares. Above: the largest share in each stretch of rows, and the threshold. Below: the
/// number of rows by share.
std::string slack_picture(const TensorJudgement& judgement, const TensorTask& task, const numerics::Contract& contract);

}  // namespace softcheck::proptests
