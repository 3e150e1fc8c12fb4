#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "judge/ops/rows/long_softmax.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "judge/ops/rows/row_judge.hpp"

namespace softcheck::proptests {

/// A value and its threshold.
struct Judgeable {
  LongApproximation exact;
  double threshold = 0;  // absolute, for any result; infinite if nothing is promised
  // For vacuity: the magnitude that the threshold is compared with, the magnitude below which no kernel has any
  // accuracy, and whether the threshold without grants is as wide.
  double magnitude = 0;
  double resolution = 0;
  bool vacuous = false;
  ResultLimits limits = {};  // used if the threshold is infinite or vacuous
};

/// The threshold of any result; smaller if the result cannot have been flushed.
///
/// contract   its output is the value's format
double granted(const numerics::Contract& contract, const Judgeable& value);

/// Judges the values of one claim in a row. Long double decides nearly all of them, enclosures the rest.
class ClaimVerdict {
 public:
  /// contract   its output is the values' format
  /// enclosed   the exact value of an item, or of the whole row, at the working precision
  ClaimVerdict(std::string_view claim, const numerics::Contract& contract,
               std::function<numerics::Enclosure(std::optional<std::size_t>)> enclosed, RowVerdicts& verdicts);

  void add(std::optional<std::size_t> item, const Judgeable& granted, double got);
  /// Adds one finding, for the value that used most of its threshold.
  void report();

 private:
  struct Verdict {
    numerics::Decision decision = numerics::Decision::proved;
    bool overflow = false;  // an overflow that the contract allows
    bool close = false;     // decided by an enclosure
    double share = 0;       // used share of the threshold

    bool worse_than(const Verdict& other) const;
  };
  struct Worst {
    std::optional<std::size_t> item;
    Judgeable value;
    double got;
    Verdict verdict;
  };

  Verdict verdict_of(std::optional<std::size_t> item, const Judgeable& value, double got) const;
  bool keeps_limits(std::optional<std::size_t> item, const Judgeable& value, double got);

  std::string_view claim_;
  const numerics::Contract contract_;
  std::function<numerics::Enclosure(std::optional<std::size_t>)> enclosed_;
  RowVerdicts& verdicts_;
  std::optional<Worst> worst_;
  ErrorSums errors_;
};

}  // namespace softcheck::proptests
