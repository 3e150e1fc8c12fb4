#include "judge/trial/property_schedule.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>

#include "judge/sandbox/watched_kernel.hpp"

namespace softcheck::proptests {
namespace {

// Calls per case if the kernel accepts all of them: some properties call a row again, after others, or alone.
// Properties that are not listed make one.
std::size_t calls_of_case(std::string_view sentence) {
  static constexpr std::array<std::pair<std::string_view, std::size_t>, 8> of_sentences{{
      {"EveryValueLiesWithinItsThreshold", 3},
      {"LayoutsAndNeighboursDoNotMatter", 3},
      {"EarlierCallsDoNotMatter", 5},
      {"AttributesAreComputedAsDefined", 2},
      {"AttributesReachEveryLayoutAndNeighbour", 3},
      {"EarlierAttributesDoNotMatter", 4},
      {"SequencesOfAnyLengthAreComputed", 2},
      {"EarlierLengthsDoNotMatter", 4},
  }};
  const auto* found = std::ranges::find(of_sentences, sentence, &std::pair<std::string_view, std::size_t>::first);
  return found == of_sentences.end() ? 1 : found->second;
}

std::chrono::nanoseconds processor_time() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

PropertySchedule::PropertySchedule(const std::vector<KernelProperty>& properties, const JudgeOptions& options,
                                   const WatchedKernel& watched)
    : properties_(properties), options_(options), watched_(watched), processor_start_(processor_time()) {
  for (std::size_t i = 0; i < properties.size(); ++i) {
    cases_ += static_cast<std::size_t>(properties[i].property.cases(options_of(i, 1)));
  }
}

void PropertySchedule::run() {
  for (std::size_t i = 0; i < properties_.size(); ++i) {
    // Spend the time limit of a hanging kernel once.
    if (watched_.timed_out() || !stop_requested().reason.empty()) break;
    run_property(i, properties_.size() - i);
  }
  finish_cut_properties();
  const bool cut = outcomes_.size() < properties_.size();
  if (!cut && std::ranges::none_of(outcomes_, [](const Outcome& one) { return one.interrupted; })) return;
  if (watched_.timed_out()) {
    early_end_ = {"a call did not return", true};
    return;
  }
  early_end_ = stop_requested();
  if (early_end_.reason.empty()) early_end_.reason = budget_spent;
  if (early_end_.by_limit) conclude_cut_properties();
}

EarlyEnd PropertySchedule::stop_requested() const {
  const Clock::time_point now = Clock::now();
  if (options_.interrupted && options_.interrupted()) return {"interrupted", false};
  if (now >= options_.deadline) return {budget_spent, false};
  if (options_.max_calls != 0 && watched_.kernel().calls() >= options_.max_calls) {
    return {"max_calls=" + std::to_string(options_.max_calls), true};
  }
  if (spent() >= options_.enough) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.enough).count();
    return {"without a budget a judgement takes at most " + std::to_string(seconds) + " s", true};
  }
  return {};
}

PropertySchedule::Clock::duration PropertySchedule::spent() const {
  constexpr int most_contenders = 4;
  return std::max(std::chrono::duration_cast<Clock::duration>(processor_time() - processor_start_),
                  (Clock::now() - start_) / most_contenders);
}

// shares   number of properties that share the remaining budget
RunOptions PropertySchedule::options_of(std::size_t i, std::size_t shares) const {
  RunOptions run = options_.run;
  run.cases = properties_[i].cases;
  if (options_.max_calls != 0) {
    const std::size_t made = watched_.kernel().calls();
    const std::size_t left = options_.max_calls - std::min<std::size_t>(made, options_.max_calls);
    const std::size_t of_case = calls_of_case(properties_[i].property.sentence());
    run.most_cases = static_cast<int>(std::max<std::size_t>(1, left / shares / of_case));
    // Their order already puts the cases with the most classes first.
    run.spread = properties_[i].property.sentence() != "EveryPairOfClassesIsComputed";
  }
  const auto of_shares = static_cast<Clock::rep>(shares);
  const Clock::time_point now = Clock::now();
  const bool has_deadline = options_.deadline != Clock::time_point::max();
  const Clock::time_point end = has_deadline ? now + (options_.deadline - now) / of_shares : options_.deadline;
  const bool is_limited = options_.enough != Clock::duration::max();
  const Clock::duration most = is_limited ? spent() + (options_.enough - spent()) / of_shares : options_.enough;
  run.interrupted = [this, end, most] {
    return Clock::now() >= end || spent() >= most || !stop_requested().reason.empty();
  };
  return run;
}

std::size_t PropertySchedule::begin(std::size_t i) const {
  std::size_t cases = 0;
  for (std::size_t k = 0; k < i; ++k) {
    cases += static_cast<std::size_t>(
        k < outcomes_.size() && is_cut(k) ? outcomes_[k].cases : properties_[k].property.cases(options_of(k, 1)));
  }
  return cases;
}

void PropertySchedule::run_property(std::size_t i, std::size_t shares) {
  RunOptions run = options_of(i, shares);
  JudgeProgress progress;
  progress.property = properties_[i].property.name();
  progress.cases = cases_;
  run.progress = [&, before = begin(i)](int cases) {
    progress.done = std::min(before + static_cast<std::size_t>(cases), cases_ - 1);
    progress.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    if (options_.progress) options_.progress(progress);
  };
  if (i == outcomes_.size()) {
    outcomes_.push_back(properties_[i].property.run(run));
  } else {
    outcomes_[i] = properties_[i].property.resume(run, std::move(outcomes_[i]));
  }
}

// Continues properties that ran out of time. A limit of calls is not divided again: it fixes the number of cases when a
// property begins.
void PropertySchedule::finish_cut_properties() {
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    auto left = static_cast<std::size_t>(std::ranges::count_if(outcomes_, &Outcome::interrupted));
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      if (!is_cut(i)) continue;
      if (watched_.timed_out() || !stop_requested().reason.empty()) return;
      run_property(i, left--);
      goes_on = goes_on || is_cut(i);
    }
  }
}

void PropertySchedule::conclude_cut_properties() {
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    if (is_cut(i) && !outcomes_[i].counterexample) properties_[i].property.conclude(outcomes_[i]);
  }
}

std::vector<std::string> PropertySchedule::not_tried() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < properties_.size(); ++i) {
    const std::string name = properties_[i].property.name();
    if (i >= outcomes_.size()) {
      if (!early_end_.reason.empty()) lines.push_back(name + ": " + early_end_.reason);
      continue;
    }
    const Outcome& outcome = outcomes_[i];
    if (outcome.interrupted && outcome.counterexample) {
      lines.push_back(name + ", a smaller case than the one shown: " + early_end_.reason);
    } else if (!outcome.counterexample && outcome.cases < outcome.wanted) {
      const bool chosen = !outcome.interrupted && options_.max_calls != 0;
      const std::string reason =
          early_end_.reason.empty() ? "max_calls=" + std::to_string(options_.max_calls) : early_end_.reason;
      lines.push_back(name + (chosen ? ", all but " : ", cases after the first ") + std::to_string(outcome.cases) +
                      " of " + std::to_string(outcome.wanted) + (chosen ? " cases: " : ": ") + reason);
    }
  }
  return lines;
}

}  // namespace softcheck::proptests
