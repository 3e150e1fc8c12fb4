#pragma once

#include <optional>
#include <span>
#include <string>

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
  std::optional<double> lower, upper;  // of the exact value; none where it is no number
  std::optional<double> ulps;          // none where the error has no size
  double share = 0;
  std::string verdict;  // "fail"
  std::string due;      // what the value had to be, where that is no number: "NaN"
  std::string reason;   // the rule that a value broke which no threshold excuses
  numerics::Format format = numerics::Format::f32, format_of_ulps = numerics::Format::f32;
};

/// outputs   those that were judged; they say which format row scalars have
ReportedRow reported_row(const JudgedTensorRow& row, const TensorTask& task, const numerics::Contract& contract,
                         std::span<const GivenTensor> outputs);

}  // namespace softcheck::proptests
