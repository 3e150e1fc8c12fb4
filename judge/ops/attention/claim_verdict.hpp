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
  double threshold = 0;  // absolute, of any result; infinite where nothing is promised
  // For vacuity: the size that the threshold is held against, below which size no kernel has any accuracy, and whether
  // the threshold without grants is as wide.
  double magnitude = 0;
  double resolution = 0;
  bool vacuous = false;
  ResultLimits limits = {};  // looked at where the threshold is infinite or vacuous
};

/// What is granted any result: of one that cannot have been flushed less than its threshold.
///
/// contract   its output is that of the value
double granted(const numerics::Contract& contract, const Judgeable& value);

/// Judges the values of one claim about a row. Long double decides nearly all of them, enclosures the others.
class ClaimVerdict {
 public:
  /// contract   its output is that of the values
  /// enclosed   the exact value of an item, or of the whole row, at the working precision
  ClaimVerdict(std::string_view claim, const numerics::Contract& contract,
               std::function<numerics::Enclosure(std::optional<std::size_t>)> enclosed, RowVerdicts& verdicts);

  void add(std::optional<std::size_t> item, const Judgeable& granted, double got);
  /// One finding: of the value that used most of its threshold.
  void report();

 private:
  struct Verdict {
    numerics::Decision decision = numerics::Decision::proved;
    bool overflow = false;  // rightly
    bool close = false;     // decided by an enclosure
    double share = 0;       // of the threshold that was used

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
