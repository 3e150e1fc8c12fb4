#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/call/refusals.hpp"
#include "judge/call/tensor_call.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "judge/trial/attention_coverage.hpp"
#include "judge/trial/attention_hints.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/verdict/value_tally.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The largest score of a call: neither a score nor a difference of two may overflow in the accumulator or in the
/// format that stores scores.
double most_score(const KernelSubject& subject);

/// An attention kernel on trial: turns cases into calls, and replies into certificates.
class AttentionTrial {
 public:
  AttentionTrial(const KernelSubject& subject, const KernelLimits& limits);

  /// The case unchanged, called twice, in tensors that end at an inaccessible page.
  Certificates as_it_is(const AttentionCase& drawn);
  /// In the layout that the case selects; then the last query of the first and of the last head alone.
  Certificates laid_out(const AttentionCase& attention);
  /// After a call at another scale, one of other lengths, and one with other numbers at the same addresses. A call that
  /// also fails when made by itself ends this check, and its certificates are those of that call.
  Certificates after_others(const AttentionCase& attention);
  /// Masks two of three keys for all queries, with NaN and the largest number in their keys and values.
  Certificates masked_as_deleted(const AttentionCase& attention);
  /// Causal, with NaN from the middle query's diagonal on: the results of earlier queries must not change.
  Certificates later_keys(const AttentionCase& attention);
  /// Some queries see no key: because of the mask, of causality, or because there are no keys.
  Certificates blind(const AttentionCase& attention);
  /// The case unchanged, and with the NaN that it selects.
  Certificates of_classes(const AttentionCase& attention);
  /// No keys, no queries or no batch.
  Certificates empty(const AttentionCase& attention);
  /// Puts one NaN into a query, a key or a value: rows that read it must be NaN, and no other row may change. The case
  /// selects the NaN's kind and place; otherwise its lengths do.
  Certificates with_a_nan(const AttentionCase& attention);
  /// Two batches or heads up to 2^32 elements apart, at a different distance in each tensor.
  Certificates far_apart(const AttentionCase& attention);

  /// The case unchanged, then with other windows, caps, sinks, slopes and biases at the same addresses.
  Certificates after_other_attributes(const AttentionCase& attention);
  /// NaN in the keys and values that the middle query does not see.
  Certificates outside_window(const AttentionCase& attention);

  /// NaN in every number of all sequences but one.
  Certificates other_sequences(const AttentionCase& attention);
  /// After a call with the same lengths in another order, at the same addresses.
  Certificates after_other_lengths(const AttentionCase& attention);

  /// Checks the case with what every call of the op has (AttentionOp::completed).
  Certificates check(const AttentionCase& attention, Certificates (AttentionTrial::*of)(const AttentionCase&)) {
    return (this->*of)(op().completed(attention));
  }

  const AttentionTask& task() const { return task_; }
  /// The value claims that every verdict needs; a kernel may refuse to return lse and entropy.
  std::vector<std::string> value_claims() const { return {proptests::value_claims(task_.op).front()}; }
  const RefusalLog& refusals() const { return refusals_; }
  const AttentionHints& hints() const { return hints_; }
  /// For the failing call that was kept: one line per attribute whose removal makes the kernel's results right. Makes
  /// one call per attribute.
  std::vector<std::string> mending_removals();
  /// Did the kernel refuse all calls that asked for the claim's output? Then it does not offer the output, which is no
  /// gap in the judgement. Only possible for lse and entropy.
  bool is_not_offered(const std::string& claim) const;
  const VacuityCount& vacuity() const { return vacuity_; }
  /// The first row with an infinite threshold; empty if there is none.
  const std::string& unbounded_row() const { return unbounded_row_; }
  WatchedKernel& watched() { return kernel_; }
  const WatchedKernel& watched() const { return kernel_; }
  std::size_t judged_rows() const { return judged_rows_; }
  const std::map<std::string, ErrorStatistics>& errors() const { return tally_.errors(); }
  /// The classes of the judged calls.
  const Coverage& coverage() const { return coverage_; }
  /// The largest sizes of the judged calls.
  const CallSizes& sizes() const { return sizes_; }
  /// Adds a reason for the classes that no case of the options can have.
  void excuse_classes(const AttentionOptions& options, const AttentionBudget& budget) {
    excuse_impossible(coverage_, task_.op, options, budget);
  }
  /// The checks that this machine did not allow, as "what: why".
  const std::set<std::string>& not_tried() const { return not_tried_; }

 private:
  using Outputs = AttentionOp::Outputs;  // empty unless the call was done

  /// The same; results that equal those of `without`, the case without the NaN, were judged there.
  Certificates with_a_nan(const AttentionCase& attention, const Outputs* without);
  /// If the kernel refuses, calls again with one output less each time: it may lack entropy or lse. Makes no call
  /// outside the domain; inside it, a refusal of out alone is a finding.
  Outputs call(const AttentionCase& attention, const std::string& remark, Certificates& certificates);
  Outputs call(const AttentionCase& attention, TensorCall tensors, const std::string& remark,
               Certificates& certificates);
  bool is_in_domain(const AttentionCase& attention, const TensorCall& tensors) const;
  /// Logs the call's traits that domains can restrict, and whether the kernel refused it.
  void log_answer(const AttentionCase& attention, const TensorCall& tensors, bool refused);
  void count_answer(std::size_t outputs, bool refused);
  const AttentionOp& op() const { return task_.op.attention_op(); }
  /// The fewest outputs that the call could ask for.
  std::size_t fewest_outputs(const TensorCall& call) const { return task_.op->all_outputs ? call.outputs.size() : 1; }
  /// Adds one certificate per claim on the chosen queries' values, for the value that used most of its threshold.
  void judge(const AttentionCase& attention, const Outputs& got, const std::string& remark, Certificates& certificates,
             const AttentionOp::Chosen& chosen = {});
  /// Records what the judged call may have in common with other failing ones.
  void note_failure(const AttentionCase& attention, const Outputs& got, const WorstFindings& worst);
  CallDescription asked(const AttentionCase& attention, const std::string& remark,
                        std::optional<std::size_t> row = {}) const;
  void call_and_judge(const AttentionCase& attention, const std::string& remark, Certificates& certificates);
  using RemarkedCase = std::pair<AttentionCase, std::string>;
  /// Judges each call; stops at one that also fails by itself, and returns that call's certificates.
  Certificates in_turn(const std::vector<RemarkedCase>& calls);
  /// The call made so that no earlier one can influence it: as the first of a process, or after other numbers.
  Certificates by_itself(const AttentionCase& attention);
  /// Are the results NaN that the NaN must have reached? Reports the first one that is not.
  numerics::Certificate are_nan(const PoisonedCase& poisoned, const Outputs& got) const;
  void compare_alone(const AttentionCase& attention, const Outputs& got, std::size_t b, std::size_t h,
                     Certificates& certificates);

  AttentionTask task_;
  Requirements required_;
  bool limited_;   // does the caller declare a domain?
  Domain domain_;  // narrowed to the op's calls
  WatchedKernel kernel_;
  VacuityCount vacuity_;
  std::string unbounded_row_;
  std::size_t judged_rows_ = 0;
  ErrorTally tally_;
  std::set<std::string> not_tried_;
  RefusalLog refusals_;
  AttentionHints hints_;
  std::optional<AttentionCase> failing_;  // the first one while calls were kept
  bool fails_in_masked_rows_ = false;     // failing_ fails only in fully masked rows
  Coverage coverage_;
  CallSizes sizes_;
  std::array<std::size_t, most_outputs + 1> accepted_{}, refused_{};  // number of calls, by number of outputs
};

/// The properties of an attention kernel, in the order in which they run. They call the trial.
std::vector<KernelProperty> attention_properties(const KernelSubject& subject, const JudgeOptions& options,
                                                 AttentionTrial& trial, PropertyShare share = PropertyShare::all);

/// Checks that a replay holds a case that the kernel's properties could draw or shrink to, with its dtype.
/// throws   std::invalid_argument
void require_replayable_attention(const KernelSubject& subject, std::string_view case_text);

}  // namespace softcheck::proptests
