#include "judge/survivors/criterion_run.hpp"

#include <algorithm>
#include <iterator>

#include "judge/sandbox/isolated_kernel.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

bool has_word(const std::string& words, const std::string& word) {
  return (" " + words + " ").find(" " + word + " ") != std::string::npos;
}

bool is_narrow(Format format) { return format == Format::f16 || format == Format::bf16; }

CriterionVerdict verdict_of(CallEnd end) {
  switch (end) {
    case CallEnd::done:
      return CriterionVerdict::accepted;
    case CallEnd::refused:
    case CallEnd::not_made:
      return CriterionVerdict::refused;
    case CallEnd::crashed:
    case CallEnd::malformed:  // not possible for a library's kernel
      return CriterionVerdict::crashed;
    case CallEnd::timed_out:
      return CriterionVerdict::timed_out;
  }
  return CriterionVerdict::crashed;
}

KernelLimits limits_of(const CriterionRun::Setting& setting) {
  KernelLimits limits;
  limits.seconds_per_call = setting.seconds_per_call;
  return limits;
}

}  // namespace

// One kernel in a process of its own, one case after the other.
class CriterionRun::Trial {
 public:
  Trial(const CriterionRun& run, const ZooKernel& kernel)
      : run_(run),
        kernel_({kernel.library_in(run.setting_.folder).string(), kernel.symbol}, limits_of(run.setting_)),
        format_(numerics::parse_format(kernel.dtype)),
        returned_(run.cases_.size()) {
    for (const CriterionCase& criterion_case : run.cases_) {
      if (criterion_case.same_as) wanted_.push_back(*criterion_case.same_as);
    }
  }

  CallEnd call(std::size_t index) {
    TensorCall call = run_.cases_[index].call;
    for (InputTensor& input : call.inputs) take_format(input.place);
    for (OutputTensor& output : call.outputs) take_format(output.place);
    TensorReply reply = kernel_.call(call);
    if (reply.end != CallEnd::done) return reply.end;
    got_ = std::move(reply.outputs.at(0));
    others_.assign(std::make_move_iterator(reply.outputs.begin() + 1), std::make_move_iterator(reply.outputs.end()));
    const std::vector<OutputTensor>& published = run_.cases_[index].call.outputs;
    for (std::size_t k = 0; k < published.size(); ++k) {
      const std::optional<Format> format = published[k].place.format;
      if (format == call.outputs[k].place.format) continue;
      for (double& value : k == 0 ? got_ : others_[k - 1]) value = numerics::round_to(*format, value);
    }
    if (std::ranges::find(wanted_, index) != wanted_.end()) returned_[index] = got_;
    return CallEnd::done;
  }

  CriterionVerdict verdict(std::size_t index) {
    const CallEnd end = call(index);
    if (end != CallEnd::done) return verdict_of(end);
    const CriterionCase& criterion_case = run_.cases_[index];
    const std::vector<double>& expected =
        criterion_case.same_as ? returned_[*criterion_case.same_as] : criterion_case.expected;
    // Without results of the earlier call there is nothing to compare with.
    if (expected.size() != got_.size()) return CriterionVerdict::values;
    const auto accepted_by = [&](const std::vector<Comparison>& comparisons, const std::vector<double>& got,
                                 const std::vector<double>& wanted) {
      return std::ranges::all_of(comparisons, [&](const Comparison& comparison) {
        return accepts(comparison, got, wanted, criterion_case.row_length);
      });
    };
    bool accepted = accepted_by(criterion_case.comparisons, got_, expected);
    for (std::size_t i = 0; i < criterion_case.others.size(); ++i) {
      const OutputWanted& wanted = criterion_case.others[i];
      accepted = accepted && accepted_by(wanted.comparisons, others_.at(i), wanted.expected);
    }
    return accepted ? CriterionVerdict::accepted : CriterionVerdict::values;
  }

 private:
  // Converts a tensor of the criterion's dtype to the kernel's.
  void take_format(TensorPlace& place) const {
    if (place.format == run_.criterion_.format) place.format = format_;
  }

  const CriterionRun& run_;
  IsolatedKernel kernel_;
  Format format_;
  std::vector<std::size_t> wanted_;            // cases whose results later cases compare with
  std::vector<std::vector<double>> returned_;  // their results
  std::vector<double> got_;
  std::vector<std::vector<double>> others_;  // all outputs but the first
};

const char* to_string(CriterionVerdict verdict) {
  switch (verdict) {
    case CriterionVerdict::accepted:
      return "accepted";
    case CriterionVerdict::values:
      return "rejected";
    case CriterionVerdict::refused:
      return "rejected: refused";
    case CriterionVerdict::crashed:
      return "rejected: crashed";
    case CriterionVerdict::timed_out:
      return "rejected: timed out";
    case CriterionVerdict::not_applicable:
      return "n/a";
  }
  return "n/a";
}

bool applies(const Criterion& criterion, const ZooKernel& kernel, const std::vector<ZooKernel>& zoo) {
  if (kernel.op != criterion.op) return false;
  // A test without an attribute does not test bugs of that attribute, and a test with it tests no other bugs.
  const Domain domain =
      kernel.domain == "-" ? Domain{} : parse_domain(kernel.domain, parse_op(kernel.op)->is_attention());
  if (criterion.from_the_end && domain.causal == CausalAlignment::top_left) return false;
  const bool of_sequences = criterion.attribute == "packed" || criterion.attribute == "pages";
  if (domain.has_sequences() || of_sequences) {
    const bool alike = domain.packed == (criterion.attribute == "packed") &&
                       domain.pages == (criterion.attribute == "pages") && !domain.has_attributes();
    if (!alike) return false;
  } else if (criterion.attribute.empty() ? domain.has_attributes() || domain.routes() || domain.top_k || domain.per_row
                                         : !has_word(kernel.domain, criterion.attribute)) {
    return false;
  }
  const std::string dtype(numerics::properties(criterion.format).name);
  if (kernel.dtype == dtype) return true;
  return is_narrow(criterion.format) && kernel.dtype == "f32" && std::ranges::none_of(zoo, [&](const ZooKernel& other) {
           return other.symbol == kernel.symbol && other.op == kernel.op && other.dtype == dtype;
         });
}

CriterionRun::CriterionRun(const Criterion& criterion, Setting setting)
    : criterion_(criterion), setting_(std::move(setting)), cases_(draw_cases(criterion, setting_.seed)) {}

bool CriterionRun::hangs(const ZooKernel& kernel) const {
  const auto ordinary =
      std::ranges::find_if(cases_, [](const CriterionCase& c) { return c.call.inputs[0].place.shape.back() > 1; });
  if (ordinary == cases_.end()) return false;
  return Trial(*this, kernel).call(static_cast<std::size_t>(ordinary - cases_.begin())) == CallEnd::timed_out;
}

std::vector<bool> CriterionRun::counted_cases(const ZooKernel& kernel) {
  std::vector<bool> counted(cases_.size(), true);
  if (kernel.kind() != ZooKernelKind::bug) return counted;
  const auto [place, is_new] =
      controls_.try_emplace(kernel.op + " " + kernel.dtype + " " + kernel.contract + " " + kernel.domain, counted);
  if (!is_new) return place->second;
  for (const ZooKernel& other : setting_.zoo) {
    const bool alike = other.kind() == ZooKernelKind::correct && other.op == kernel.op && other.dtype == kernel.dtype &&
                       other.contract == kernel.contract && other.domain == kernel.domain;
    if (!alike || !applies(criterion_, other, setting_.zoo)) continue;
    Trial trial(*this, other);
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      place->second[i] = place->second[i] && trial.verdict(i) == CriterionVerdict::accepted;
    }
  }
  return place->second;
}

CriterionVerdict CriterionRun::verdict(const ZooKernel& kernel) {
  const std::vector<bool> counted = counted_cases(kernel);
  const bool bug = kernel.kind() == ZooKernelKind::bug;
  Trial trial(*this, kernel);
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const CriterionVerdict verdict = trial.verdict(i);
    if (verdict == CriterionVerdict::refused && !bug) return CriterionVerdict::not_applicable;
    if (verdict != CriterionVerdict::accepted && counted[i]) return verdict;
  }
  return CriterionVerdict::accepted;
}

std::size_t CriterionRun::uncounted_cases() const {
  std::size_t most = 0;
  for (const auto& [control, passed] : controls_) {
    most = std::max(most, static_cast<std::size_t>(std::ranges::count(passed, false)));
  }
  return most;
}

}  // namespace softcheck::proptests
