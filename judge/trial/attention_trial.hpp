#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "judge/call/call_sizes.hpp"
#include "judge/call/refusals.hpp"
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

/// The largest score that a call may have: neither it nor a difference of two overflows in the accumulator, or where
/// scores are stored.
double most_score(const KernelSubject& subject);

/// One kernel of attention on trial: turns a case into calls, and the replies into certificates.
class AttentionTrial {
 public:
  AttentionTrial(const KernelSubject& subject, const KernelLimits& limits);

  /// The case unchanged, in tensors that end at a page without access, twice.
  Certificates as_it_is(const AttentionCase& drawn);
  /// In the layout that the case numbers; and the last query of the first and the last head alone.
  Certificates laid_out(const AttentionCase& attention);
  /// After a call at another scale, one of other lengths, and one with other numbers at the same addresses. A call
  /// whose values are wrong by itself, too, ends this trial, and its certificates are those by itself.
  Certificates after_others(const AttentionCase& attention);
  /// Two of three keys masked for all queries, with NaN and the largest number in their keys and values.
  Certificates masked_as_deleted(const AttentionCase& attention);
  /// Causal, NaN from the middle query's diagonal on: it must not change the results of the queries before it.
  Certificates later_keys(const AttentionCase& attention);
  /// Some queries see no key: by the mask, by causality, or because there are no keys.
  Certificates blind(const AttentionCase& attention);
  /// As it is; and with the NaN that the case numbers.
  Certificates of_classes(const AttentionCase& attention);
  /// No keys, no queries or no batch.
  Certificates empty(const AttentionCase& attention);
  /// One NaN in a query, a key or a value: the rows that read it are NaN, and no other changes. The case gives the kind
  /// and place of the NaN; otherwise its lengths determine them.
  Certificates with_a_nan(const AttentionCase& attention);
  /// Two batches or heads up to 2^32 elements apart, in each tensor elsewhere.
  Certificates far_apart(const AttentionCase& attention);

  /// As it is, then with other attributes: other windows, caps, sinks, slopes and biases at the same addresses.
  Certificates after_other_attributes(const AttentionCase& attention);
  /// NaN in the keys and values that the middle query does not see.
  Certificates outside_window(const AttentionCase& attention);

  /// NaN in every number of all sequences but one.
  Certificates other_sequences(const AttentionCase& attention);
  /// After a call whose lengths are the same ones in another order, at the same addresses.
  Certificates after_other_lengths(const AttentionCase& attention);

  const AttentionTask& task() const { return task_; }
  /// The claim on values that no verdict goes without; a kernel may refuse to return lse and entropy.
  std::vector<std::string> value_claims() const { return {proptests::value_claims(task_.op).front()}; }
  const RefusalLog& refusals() const { return refusals_; }
  const AttentionHints& hints() const { return hints_; }
  /// Of the call that failed while calls were kept: a line with each attribute without which the kernel is right. Makes
  /// one call for each.
  std::vector<std::string> mending_removals();
  /// The kernel refused all calls that asked for what the claim is about: it does not have it, and that is no gap in
  /// the judgement. Only ever so of lse and entropy.
  bool is_not_offered(const std::string& claim) const;
  const VacuityCount& vacuity() const { return vacuity_; }
  /// The first row with an infinite threshold; empty: there is none.
  const std::string& unbounded_row() const { return unbounded_row_; }
  WatchedKernel& watched() { return kernel_; }
  const WatchedKernel& watched() const { return kernel_; }
  std::size_t judged_rows() const { return judged_rows_; }
  const std::map<std::string, ErrorStatistics>& errors() const { return tally_.errors(); }
  /// The classes of the judged calls.
  const Coverage& coverage() const { return coverage_; }
  /// Their largest sizes.
  const CallSizes& sizes() const { return sizes_; }
  /// Classes that no case of the options can have get a reason.
  void excuse_classes(const AttentionOptions& options, const AttentionBudget& budget) {
    excuse_impossible(coverage_, task_.op, options, budget);
  }
  /// The checks that this machine did not allow, as "what: why".
  const std::set<std::string>& not_tried() const { return not_tried_; }

 private:
  using Outputs = AttentionOp::Outputs;  // none unless the call was done

  /// The same; what repeats the results of the case without the NaN, where there are some, was judged with them.
  Certificates with_a_nan(const AttentionCase& attention, const Outputs* without);
  /// Where the kernel refuses, with one output less, and again: it may have no entropy, or no lse. In a domain a
  /// refusal of out alone is a finding, and no call is made outside it.
  Outputs call(const AttentionCase& attention, const std::string& remark, Certificates& certificates);
  Outputs call(const AttentionCase& attention, TensorCall tensors, const std::string& remark,
               Certificates& certificates);
  bool is_in_domain(const AttentionCase& attention, const TensorCall& tensors) const;
  /// Notes what of the call a domain speaks of, and whether it was refused.
  void log_answer(const AttentionCase& attention, const TensorCall& tensors, bool refused);
  void count_answer(std::size_t outputs, bool refused);
  const AttentionOp& op() const { return task_.op.attention_op(); }
  /// The fewest outputs that it could ask for in place of those that it has.
  std::size_t fewest_outputs(const TensorCall& call) const { return task_.op->all_outputs ? call.outputs.size() : 1; }
  /// A certificate of each claim on the values of the queries chosen: of the one that used most of its threshold.
  void judge(const AttentionCase& attention, const Outputs& got, const std::string& remark, Certificates& certificates,
             const AttentionOp::Chosen& chosen = {});
  /// What the judged call has in common with others that fail.
  void note_failure(const AttentionCase& attention, const Outputs& got, const WorstFindings& worst);
  CallDescription asked(const AttentionCase& attention, const std::string& remark,
                        std::optional<std::size_t> row = {}) const;
  void call_and_judge(const AttentionCase& attention, const std::string& remark, Certificates& certificates);
  using RemarkedCase = std::pair<AttentionCase, std::string>;
  /// Each judged; where its values are wrong by itself, too, it is the last, with these certificates.
  Certificates in_turn(const std::vector<RemarkedCase>& calls);
  /// The call where no earlier one can have a part in its results: the first of a process, or after other numbers.
  Certificates by_itself(const AttentionCase& attention);
  /// Are the results NaN that a NaN must have reached? Shows the first that is not.
  numerics::Certificate are_nan(const PoisonedCase& poisoned, const Outputs& got) const;
  void compare_alone(const AttentionCase& attention, const Outputs& got, std::size_t b, std::size_t h,
                     Certificates& certificates);

  AttentionTask task_;
  Requirements required_;
  Domain domain_;
  WatchedKernel kernel_;
  VacuityCount vacuity_;
  std::string unbounded_row_;
  std::size_t judged_rows_ = 0;
  ErrorTally tally_;
  std::set<std::string> not_tried_;
  RefusalLog refusals_;
  AttentionHints hints_;
  std::optional<AttentionCase> failing_;  // the first while calls were kept
  bool fails_in_masked_rows_ = false;     // and nowhere else
  Coverage coverage_;
  CallSizes sizes_;
  std::array<std::size_t, most_outputs + 1> accepted_{}, refused_{};  // calls, by the number of outputs
};

/// The properties that a kernel of attention is judged by, in the order they are run. They call trial.
std::vector<KernelProperty> attention_properties(const KernelSubject& subject, const JudgeOptions& options,
                                                 AttentionTrial& trial, PropertyShare share = PropertyShare::all);

/// What a replay may hold: a case of the kernel's dtype that its properties could draw or shrink to.
/// throws   std::invalid_argument
void require_replayable_attention(const KernelSubject& subject, std::string_view case_text);

}  // namespace softcheck::proptests
