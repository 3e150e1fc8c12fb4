#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

class WatchedKernel;

/// A reason to end early: the caller's budget.
inline constexpr const char* budget_spent = "the time budget was spent";

/// Why a judgement ended before all of its cases were run.
struct EarlyEnd {
  std::string reason;  // "interrupted"; empty: the judgement is whole
  /// The judge left cases out by its own limit (JudgeOptions::enough, max_calls). What was judged stands, and the
  /// report names what was left out.
  bool by_limit = false;
};

/// Runs the properties of a judgement, one after another, and divides the budget among them.
///
/// Each property gets an equal share of what is left. A property that needs less hands the rest on. When all have run,
/// those that were cut go on where they stopped, until every case was run or the budget is spent.
class PropertySchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// properties, options, watched   outlive this; options are interruptible()
  PropertySchedule(const std::vector<KernelProperty>& properties, const JudgeOptions& options,
                   const WatchedKernel& watched);

  void run();

  /// Of the properties that were begun, in the order of the properties.
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const EarlyEnd& early_end() const { return early_end_; }
  /// "Kernel.EveryWidthIsComputed, cases after the first 20 of 151: the time budget was spent", for each that was cut.
  std::vector<std::string> not_tried() const;

 private:
  EarlyEnd stop_requested() const;
  /// Of `enough`: the time of this thread's processor, or a fourth of the time that has gone by. A judgement on a busy
  /// machine then has the cases of one on an idle machine.
  Clock::duration spent() const;
  RunOptions options_of(std::size_t i, std::size_t shares) const;
  std::size_t begin(std::size_t i) const;
  void run_property(std::size_t i, std::size_t shares);
  void finish_cut_properties();
  void conclude_cut_properties();
  bool is_cut(std::size_t i) const { return outcomes_[i].interrupted; }

  const std::vector<KernelProperty>& properties_;
  const JudgeOptions& options_;
  const WatchedKernel& watched_;
  Clock::time_point start_ = Clock::now();
  std::chrono::nanoseconds processor_start_;
  std::vector<Outcome> outcomes_;
  std::size_t cases_ = 0;
  EarlyEnd early_end_;
};

}  // namespace softcheck::proptests
