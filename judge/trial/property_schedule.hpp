#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "judge/trial/kernel_properties.hpp"

namespace softcheck::proptests {

class WatchedKernel;

/// A reason to end early: the caller's budget.
inline constexpr const char* budget_spent = "the time budget was spent";

/// Why a judgement ended before all of its cases ran.
struct EarlyEnd {
  std::string reason;  // "interrupted"; empty: the judgement is complete
  /// The judge stopped at its own limit (JudgeOptions::enough, max_calls). The results stand, and the report names what
  /// was left out.
  bool by_limit = false;
};

/// Runs the properties of a judgement in order, and divides the budget among them.
///
/// Each property gets an equal share of what is left, and passes on what it does not need. Properties that were cut
/// then continue, until every case ran or the budget is spent.
class PropertySchedule {
 public:
  using Clock = std::chrono::steady_clock;

  /// properties, options, watched   must outlive this object; options are interruptible()
  PropertySchedule(const std::vector<KernelProperty>& properties, const JudgeOptions& options,
                   const WatchedKernel& watched);

  void run();

  /// One per property that began, in order.
  const std::vector<Outcome>& outcomes() const { return outcomes_; }
  const EarlyEnd& early_end() const { return early_end_; }
  /// "Kernel.EveryWidthIsComputed, cases after the first 20 of 151: the time budget was spent", for each cut property.
  std::vector<std::string> not_tried() const;

 private:
  EarlyEnd stop_requested() const;
  /// The time that counts against `enough`: this thread's processor time, or a fourth of the elapsed time if that is
  /// more. So a judgement on a busy machine runs as many cases as on an idle one.
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
