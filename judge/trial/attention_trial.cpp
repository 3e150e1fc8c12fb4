#include "judge/trial/attention_trial.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "judge/call/attention_call.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/trial/kernel_claims.hpp"

namespace softcheck::proptests {
namespace {

CallKind kind_of(const AttentionCase& a) {
  CallKind result(a.attributes.classes   ? "for the loss"
                  : !a.gradients.empty() ? "for the gradients"
                  : a.outputs == 1       ? "for out"
                  : a.outputs == 2       ? "for out and lse"
                                         : "for out, lse and entropy");
  result.asks = result.words;
  std::string& kind = result.words;
  if (!a.gradients.empty() && a.asks_sink_gradients()) kind += ", the sinks'";
  if (!a.gradients.empty() && a.asks_bias_gradient()) kind += ", the bias's";
  if (a.shape.queries == 0 || a.shape.keys == 0 || a.shape.batch == 0) {
    kind += " of nothing";
    return result;
  }
  if (!a.mask.empty()) kind += ", with a mask";
  if (a.causal) kind += ", causal";
  if (a.is_top_left()) kind += ", aligned top-left";
  if (a.attributes.window()) kind += ", with a window";
  if (a.attributes.softcap != 0) kind += ", with a softcap";
  if (!a.attributes.sinks.empty()) kind += ", with sinks";
  if (!a.attributes.slopes.empty()) kind += ", with slopes";
  if (!a.attributes.bias.empty()) kind += ", with a bias";
  if (!a.attributes.kept.empty()) kind += ", with dropout";
  if (a.sequences.packed) kind += ", packed";
  if (a.sequences.page_size > 0) kind += ", in pages";
  if (a.shape.group > 1) kind += ", with grouped heads";
  if (a.layout != 0) kind += ", with strides";
  return result;
}

}  // namespace

double most_score(const KernelSubject& subject) {
  return numerics::properties(subject.contract.scores.value_or(subject.contract.accumulator)).largest / 4;
}

namespace {

// The largest power of two that reaching_cases() makes as a product of two numbers of the inputs' format.
double reached_score(const KernelSubject& subject) {
  const double factor = std::ldexp(1.0, numerics::properties(subject.contract.input).max_exponent);
  return std::min(most_score(subject) / 2, factor * factor);
}

}  // namespace

AttentionTrial::AttentionTrial(const KernelSubject& subject, const KernelLimits& limits)
    : required_(subject.required),
      limited_(!subject.domain.everything()),
      domain_(subject.op.attention_op().narrowed(subject.domain)),
      kernel_(subject.source, limits, subject.exempt),
      coverage_(attention_coverage(subject.op)),
      sizes_(attention_sizes(domain_, reached_score(subject))) {
  task_.op = subject.op;
  task_.contract = subject.contract;
  task_.contract.output = subject.contract.input;
  task_.scalars = subject.contract.output;
}

namespace {

CallTraits traits_of_call(const AttentionCase& attention, const TensorCall& tensors) {
  CallTraits traits = traits_of(attention);
  const auto is_view = [](const auto& tensor) {
    if constexpr (requires { tensor.view_of; }) return tensor.view_of.has_value();
    return false;
  };
  const auto is_compact = [&](const auto& tensor) {
    if (is_view(tensor)) return true;
    TensorPlace plain = tensor.place;
    plain.strides.clear();
    return tensor.place.strides_in_use() == plain.strides_in_use();
  };
  // A dimension with one element may have any stride, and so may every dimension of an empty tensor.
  const auto is_side_by_side = [&](const auto& tensor) {
    if (is_view(tensor)) return true;
    TensorPlace plain = tensor.place;
    plain.strides.clear();
    const auto strides = tensor.place.strides_in_use(), own = plain.strides_in_use();
    for (std::size_t d = 0; d < own.size(); ++d) {
      if (plain.shape[d] > 1 && strides[d] != own[d]) return std::ranges::count(plain.shape, 0) > 0;
    }
    return true;
  };
  const auto is_contiguous = [](const auto& tensor) {
    return tensor.place.strides.empty() || tensor.place.strides.back() == 1 || tensor.place.shape.back() < 2;
  };
  traits.compact = std::ranges::all_of(tensors.inputs, is_compact) && std::ranges::all_of(tensors.outputs, is_compact);
  const auto has_offset = [](const auto& tensor) { return tensor.place.offset > 0; };
  traits.offset = std::ranges::any_of(tensors.inputs, has_offset) || std::ranges::any_of(tensors.outputs, has_offset);
  traits.side_by_side =
      std::ranges::all_of(tensors.inputs, is_side_by_side) && std::ranges::all_of(tensors.outputs, is_side_by_side);
  traits.contiguous =
      std::ranges::all_of(tensors.inputs, is_contiguous) && std::ranges::all_of(tensors.outputs, is_contiguous);
  return traits;
}

}  // namespace

bool AttentionTrial::is_in_domain(const AttentionCase& attention, const TensorCall& tensors) const {
  CallTraits traits = traits_of_call(attention, tensors);
  traits.alignment = domain_.alignment;
  return lies_in(domain_, attention, std::move(traits));
}

void AttentionTrial::log_answer(const AttentionCase& attention, const TensorCall& tensors, bool refused) {
  // With additional outputs the kernel may have refused only because of those.
  if (refused && tensors.outputs.size() > fewest_outputs(tensors)) return;
  CallTraits traits = traits_of_call(attention, tensors);
  traits.alignment = alignment_of(tensors);
  refusals_.add(std::move(traits), refused);
}

void AttentionTrial::count_answer(std::size_t outputs, bool refused) {
  ++(refused ? refused_ : accepted_)[outputs];
  if (task_.op->all_outputs) return;
  for (const auto& [least, what] : {std::pair{2, "log-sum-exps"}, std::pair{3, "entropies"}}) {
    const std::string text = std::string(what) + ": the kernel refuses to return them";
    const std::string claim = proptests::value_claims(task_.op)[static_cast<std::size_t>(least) - 1];
    if (is_not_offered(claim)) {
      not_tried_.insert(text);
    } else {
      not_tried_.erase(text);
    }
  }
}

bool AttentionTrial::is_not_offered(const std::string& claim) const {
  const std::vector<std::string> claims = proptests::value_claims(task_.op);
  const auto found = std::ranges::find(claims, claim);
  if (task_.op->all_outputs || found == claims.end() || found == claims.begin()) return false;
  std::size_t accepted = 0, refused = 0;
  for (auto outputs = static_cast<std::size_t>(found - claims.begin()) + 1; outputs <= most_outputs; ++outputs) {
    accepted += accepted_[outputs];
    refused += refused_[outputs];
  }
  return accepted == 0 && refused > 0;
}

auto AttentionTrial::call(const AttentionCase& attention, TensorCall tensors, const std::string& remark,
                          Certificates& certificates) -> Outputs {
  if (!domain_.everything()) {
    if (!is_in_domain(attention, tensors)) return {};
    for (InputTensor& input : tensors.inputs) input.place.alignment = domain_.alignment;
    for (OutputTensor& output : tensors.outputs) output.place.alignment = domain_.alignment;
  }
  const std::size_t refused_before = kernel_.kernel().refused_calls(), calls_before = kernel_.kernel().calls();
  Outputs got = kernel_.call(
      tensors, kind_of(attention), [&] { return asked(attention, remark); }, certificates);
  restore_heads(attention, tensors, got);
  got = op().dense(attention, std::move(got));
  const bool refused = kernel_.kernel().refused_calls() > refused_before;
  const bool called = kernel_.kernel().calls() > calls_before;
  if (called) {
    count_answer(tensors.outputs.size(), refused);
    log_answer(attention, tensors, refused);
  }
  if (called && !refused) {
    if (limited_) certificates.push_back(observed("kernel.accepts", CallDescription{}, 0));
    if (got.empty()) {
      hints_.add(attention, true);
      if (kernel_.passed() && !failing_) failing_ = attention;
    }
    return got;
  }
  if (kernel_.timed_out()) return {};
  if (tensors.outputs.size() > fewest_outputs(tensors)) {
    if (refused) excuse_outputs(coverage_, task_.op, tensors.outputs.size());
    AttentionCase fewer = attention;
    --fewer.outputs;
    tensors.outputs.pop_back();
    return call(fewer, std::move(tensors), remark, certificates);
  }
  if (refused) excuse_refused(coverage_, task_.op, attention);
  if (refused && limited_)
    certificates.push_back(observed("kernel.accepts", asked(attention, remark + " (refused)"), 1));
  return {};
}

auto AttentionTrial::call(const AttentionCase& attention, const std::string& remark, Certificates& certificates)
    -> Outputs {
  return call(attention, op().call(task_, attention), remark, certificates);
}

void AttentionTrial::judge(const AttentionCase& attention, const Outputs& got, const std::string& remark,
                           Certificates& certificates, const AttentionOp::Chosen& chosen) {
  if (got.empty()) return;
  if (!chosen) {
    meet_classes(coverage_, task_.op, attention, got.size());
    reach_sizes(sizes_, attention);
  }
  WorstFindings worst;
  VacuityCount of_call;
  op().judge(task_, attention, got, chosen, [&](std::size_t row, RowVerdicts verdicts) {
    of_call += verdicts.vacuity;
    if (unbounded_row_.empty() && of_call.unbounded > 0) unbounded_row_ = describe_call(attention, remark, row).text();
    ++judged_rows_;
    for (ValueFinding& finding : verdicts.findings) {
      tally_.add(finding, [&] { return asked(attention, remark, row).text(); });
      worst.add(std::move(finding), row);
    }
  });
  vacuity_.add_call(of_call);
  if (!chosen) note_failure(attention, got, worst);
  const numerics::PrecisionScope precision(113);
  for (const auto& [claim, of] : worst.by_claim()) {
    const numerics::Format format = is_scalar_claim(task_.op, claim) ? task_.scalars : task_.contract.output;
    certificates.push_back(
        certificate_of(of.finding, asked(attention, remark, of.row), format_of_ulps(task_.contract, format)));
  }
}

void AttentionTrial::note_failure(const AttentionCase& attention, const Outputs& got, const WorstFindings& worst) {
  const auto is_violated = [](const auto& of_claim) {
    return of_claim.second.finding.decision == numerics::Decision::violated;
  };
  const bool failed = std::ranges::any_of(worst.by_claim(), is_violated);
  hints_.add(attention, failed);
  // Causality does not explain fully masked rows: a call without causality gives equal weights, too.
  const bool of_masked_rows = std::ranges::all_of(worst.by_claim(), [&](const auto& of_claim) {
    return of_claim.first == "kernel.masked_row" || !is_violated(of_claim);
  });
  if (failed && kernel_.passed() && !failing_) {
    failing_ = attention;
    fails_in_masked_rows_ = of_masked_rows;
  }
  if (!failed || of_masked_rows) return;
  hints_.ask(attention, [&](const AttentionCase& other) {
    bool right = true;
    op().judge(task_, other, got, {}, [&](std::size_t, const RowVerdicts& verdicts) {
      right = right && std::ranges::all_of(verdicts.findings, [](const ValueFinding& finding) {
                return finding.decision == numerics::Decision::proved;
              });
    });
    return right;
  });
}

std::vector<std::string> AttentionTrial::mending_removals() {
  std::string names;
  if (!failing_) return {};
  for (const auto& [name, attention] : without_each_attribute(*failing_)) {
    // Removing what hides a row would leave no masked row.
    if (fails_in_masked_rows_ && (name == RemovedAttribute::causality || name == RemovedAttribute::mask)) continue;
    Certificates certificates;
    try {
      const Outputs got = call(attention, "", certificates);
      if (got.empty()) continue;
      judge(attention, got, "", certificates);
    } catch (const Interrupted&) {
      break;
    }
    if (numerics::worst(certificates) == numerics::Verdict::proved) names += (names.empty() ? "" : ", without ") + name;
  }
  if (names.empty()) return {};
  return {"the call that fails is right without " + names};
}

CallDescription AttentionTrial::asked(const AttentionCase& attention, const std::string& remark,
                                      std::optional<std::size_t> row) const {
  CallDescription result = describe_call(attention, remark, row);
  result.passed = kernel_.passed();
  return result;
}

void AttentionTrial::call_and_judge(const AttentionCase& attention, const std::string& remark,
                                    Certificates& certificates) {
  judge(attention, call(attention, remark, certificates), remark, certificates);
}

numerics::Certificate AttentionTrial::are_nan(const PoisonedCase& poisoned, const Outputs& got) const {
  KernelEvidence evidence;
  evidence.asked = asked(poisoned.attention, poisoned.remark);
  std::size_t numbers = 0;
  op().reached(task_, poisoned, got, [&](const AttentionOp::Reached& one) {
    if (std::isnan(one.value) || ++numbers > 1) return;
    evidence.asked = asked(poisoned.attention, poisoned.remark, one.row);
    evidence.value = ReportedValue{one.item, std::nullopt, "NaN", one.value, std::nullopt, one.format};
  });
  return observed("kernel.nan_row", std::move(evidence), numbers);
}

void AttentionTrial::compare_alone(const AttentionCase& attention, const Outputs& got, std::size_t b, std::size_t h,
                                   Certificates& certificates) {
  const AttentionShape& s = attention.shape;
  const std::size_t queries = attention.queries_of(b);
  if (queries == 0) return;
  const std::size_t last = row_number(s, b, h, queries - 1);
  const std::optional<AttentionCase> query = query_alone(attention, b, h, queries - 1);
  if (!query) return;  // the query has no keys
  const AttentionCase& alone = *query;
  const std::string what = attention.attributes.classes ? "row" : "query", remark = " (one " + what + " alone)";
  const Outputs single = call(alone, remark, certificates);
  if (single.empty()) return;
  // Compare as many outputs as the single query's call returned: the kernel may refuse some of them there.
  const Outputs same_outputs(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(single.size()));
  const std::vector<double> among = op().results_of_query(attention, same_outputs, last),
                            by_itself = op().results_of_query(alone, single, 0);
  if (!same_bits(among, by_itself)) judge(alone, single, remark, certificates);
  kernel_.compare(among, by_itself, required_.batch_invariant, "kernel.batch_invariant",
                  "not batch-invariant: a " + what + " gave different bits in another layout or batch",
                  asked(attention, "", last), certificates);
}

}  // namespace softcheck::proptests
