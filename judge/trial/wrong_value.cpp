#include "judge/trial/wrong_value.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "judge/call/evidence.hpp"
#include "judge/sandbox/guarded_pages.hpp"
#include "judge/trial/effort_properties.hpp"
#include "judge/trial/plainest_case.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;

// Rounding does not explain an error of this many thresholds.
constexpr double times_of_wrong = 10;

// In an 8-bit output the filling is a number that kernels also return.
bool is_filling(const ReportedValue& value) {
  constexpr std::uint64_t bytes = 0x0101'0101'0101'0101 * static_cast<std::uint8_t>(Filling::output);
  if (value.is_index) return value.got == static_cast<std::int32_t>(bytes & 0xffff'ffff);
  for (const numerics::Format format : numerics::all_formats()) {
    const int bits = numerics::properties(format).storage_bits;
    if (bits > 8 && value.got == numerics::decode(format, bytes >> (64 - bits))) return true;
  }
  return false;
}

std::string decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

// Detects a kernel that does not subtract the maximum: its exponentials overflow, or all are 0. Shrinking halves the
// numbers of a failing case, so a case far beyond the range of exp has another cause.
std::string unshifted_exponentials(const KernelSubject& subject, const JudgedNumbers& row) {
  if (subject.op->inputs[0].role != Role::logits || !subject.op->answers.exponentials) return "";
  double largest = -std::numeric_limits<double>::infinity();
  for (const double logit : row.logits) {
    if (std::isfinite(logit)) largest = std::fmax(largest, logit / row.theta);
  }
  const numerics::FormatProperties& format = numerics::properties(subject.contract.accumulator);
  const double most = std::log(format.largest), least = std::log(format.smallest_subnormal);
  constexpr double halvings = 4;  // of a logit, and of theta
  if ((largest < most && largest > least) || largest > halvings * most || largest < halvings * least) return "";
  const std::string what = largest < most ? " is 0 below " + decimal(least) : " overflows above " + decimal(most);
  return "cause: exp in " + std::string(format.name) + what + ", and this row's largest logit" +
         (row.theta == 1 ? "" : " over theta") + " is " + decimal(largest) + ": subtract the maximum before exp";
}

// A loss of a row with hidden classes: in most kernels that return NaN, a weight of 0 meets the logarithm of 0.
std::string hidden_class(const KernelSubject& subject, const JudgedNumbers& row) {
  const bool is_loss = subject.op->inputs[0].role == Role::logits && subject.op->inputs.size() > 1;
  if (!is_loss || std::ranges::find(row.logits, -std::numeric_limits<double>::infinity()) == row.logits.end())
    return "";
  return "cause: the row has logits of -inf, and 0 * -inf and -inf - -inf are NaN, but a class of weight 0 adds 0: "
         "leave "
         "it out by a branch or a select; the domain 'finite' leaves such rows out";
}

// Does the call have so many or so long rows that it may need more than the time limit?
std::string longer_than_it_may(const KernelSubject& subject, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t many = 1024;
  const std::vector<std::string> names = subject.op->is_attention()
                                             ? std::vector<std::string>{"batch", "heads", "queries"}
                                         : shape.size() == 2 ? std::vector<std::string>{"rows", "n"}
                                                             : std::vector<std::string>{};
  const std::size_t count = std::min(names.size(), shape.size());
  const auto largest = std::max_element(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count));
  if (count == 0 || *largest < many) return "";
  const std::string& name = names[static_cast<std::size_t>(largest - shape.begin())];
  return "cause: a loop without end, or too little time for a call of " + name + "=" + std::to_string(*largest) +
         ": a longer time limit, or the domain " + name + "<=" + std::to_string(*largest / 2) + ", leaves that open";
}

// The lengths of a case by its text; none of a text that is no whole case, as where the library is loaded. A call of
// attention may be shown without its numbers.
std::map<std::string, std::uint64_t, std::less<>> lengths_of(const std::string& case_text) {
  std::map<std::string, std::uint64_t, std::less<>> lengths;
  if (case_text.starts_with("attention ")) {
    for (const std::string name : {"batch", "queries", "keys"}) {
      if ((case_text + ' ').find(' ' + name + "=0 ") != std::string::npos) lengths[name] = 0;
    }
    return lengths;
  }
  const auto read = [&](auto of) {
    from_text(case_text, of);
    return of;
  };
  try {
    if (case_text.starts_with("matrix ")) return traits_of(read(RowMatrixCase())).lengths;
    if (case_text.starts_with("row ")) return traits_of(matrix_of(read(RowCase()))).lengths;
  } catch (const std::invalid_argument&) {
    return {};
  }
  return {};
}

// Names the domain without calls like this one, if it has no numbers.
std::string empty_call(const std::string& case_text) {
  std::string words;
  for (const auto& [name, length] : lengths_of(case_text)) {
    if (length == 0) words += (words.empty() ? "" : " ") + name + ">=1";
  }
  return words.empty() ? "" : "cause: the call is empty; the domain " + words + " leaves such calls out";
}

// For a fully masked row: the contract word by which the result is right, or that no word makes it right.
std::string masked_word(const KernelSubject& subject, const ReportedValue& value) {
  using numerics::MaskedRows;
  const bool is_nan = std::isnan(value.got);
  if (!is_nan && (value.got != 0 || std::signbit(value.got))) return "";
  if (subject.op->answers.masked_rows && subject.contract.masked != (is_nan ? MaskedRows::nan : MaskedRows::zero)) {
    return std::string("cause: a row that sees no item has another value by the contract; masked=") +
           (is_nan ? "nan grants this NaN" : "zero grants this 0");
  }
  return is_nan ? "cause: " + value.expected_text() + " is due whatever masked= says; -inf - -inf and 0 / 0 are NaN"
                : "";
}

// In a row of n equal logits every exponential is exp(0). Is the value's error at most n times what exp= grants one
// exponential?
bool may_be_of_exp_of_zero(const KernelSubject& subject, const numerics::Certificate& failed) {
  const KernelEvidence* evidence = evidence_of(failed);
  if (evidence == nullptr || !evidence->value || !evidence->value->expected || !evidence->asked.numbers) return false;
  std::vector<double> visible = evidence->asked.numbers->logits;
  std::erase_if(visible, [](double logit) { return !std::isfinite(logit); });
  if (visible.size() < 2 || std::ranges::count(visible, visible[0]) != std::ssize(visible)) return false;
  const numerics::Contract& contract = subject.contract;
  const double unit = numerics::properties(contract.accumulator).unit_roundoff;
  const double exact = evidence->value->expected->upper_double(), size = to_string(subject.op) == "softmax" ? exact : 1;
  return std::fabs(evidence->value->got - exact) <=
         static_cast<double>(visible.size()) * contract.exp_error * unit * size;
}

}  // namespace

WrongValue kind_of(const Certificate& failed) {
  const KernelEvidence* evidence = evidence_of(failed);
  if (evidence == nullptr) return WrongValue::other;
  if (evidence->ending) return WrongValue::ended;
  if (!evidence->value) return WrongValue::other;
  const ReportedValue& value = *evidence->value;
  if (is_filling(value)) return WrongValue::unwritten;
  if (!value.expected || !value.due.empty()) return WrongValue::other;
  const double lower = value.expected->lower_double(), upper = value.expected->upper_double();
  if (!std::isfinite(lower) || !std::isfinite(upper)) return WrongValue::other;
  if (std::isnan(value.got)) return evidence->asked.hides_nan ? WrongValue::hidden_nan : WrongValue::nan;
  if (std::isinf(value.got)) return WrongValue::infinite;
  if (value.got == 0 && (lower > 0 || upper < 0)) return WrongValue::zero;
  return failed.slack >= times_of_wrong ? WrongValue::wrong : WrongValue::inexact;
}

std::string cause_of(const KernelSubject& subject, const Certificate& failed) {
  const KernelEvidence* evidence = evidence_of(failed);
  switch (kind_of(failed)) {
    case WrongValue::unwritten:
      return "cause: the kernel never wrote this value: it is what the judge fills outputs with before each call";
    case WrongValue::hidden_nan:
      return "cause: this row may not see a NaN that its call holds, but 0 * NaN is NaN: leave hidden items out, by a "
             "branch or a select, and not by a weight of 0";
    case WrongValue::nan:
    case WrongValue::infinite: {
      const std::optional<JudgedNumbers>& row = evidence->asked.numbers;
      if (!row) return "";
      const std::string exponentials = unshifted_exponentials(subject, *row);
      const bool is_nan = exponentials.empty() && std::isnan(evidence->value->got);
      return is_nan ? hidden_class(subject, *row) : exponentials;
    }
    case WrongValue::ended:
      if (std::string empty = empty_call(evidence->asked.case_text); !empty.empty()) return empty;
      return evidence->ending->end == CallEnd::timed_out ? longer_than_it_may(subject, evidence->ending->shape) : "";
    case WrongValue::other:
      if (evidence != nullptr && evidence->asked.case_text == loading_remark) {
        return "cause: a start function of the library; GCC's -Ofast and -ffast-math link one (crtfastmath.o), which "
               "sets flush-to-zero for the whole process: link without these flags";
      }
      if (evidence == nullptr || !evidence->value) return "";
      if (failed.claim == "kernel.nan_row" && !std::isnan(evidence->value->got)) {
        return "cause: a NaN is lost, as in fmaxf and in comparisons: let a NaN win the maximum, or judge in the "
               "domain "
               "'finite'";
      }
      return failed.claim == "kernel.masked_row" ? masked_word(subject, *evidence->value) : "";
    default:
      return "";
  }
}

void choose_gravest(KernelJudgement& judgement) {
  const auto gravest_of = [](const Counterexample& found) {
    WrongValue gravest = WrongValue::other;
    for (const Certificate& failed : found.failed) gravest = std::min(gravest, kind_of(failed));
    return gravest;
  };
  if (!judgement.counterexample || !judgement.counterexample->error.empty()) return;
  WrongValue gravest = gravest_of(*judgement.counterexample);
  for (const PropertyFinding& property : judgement.properties) {
    const std::optional<Counterexample>& found = property.outcome.counterexample;
    if (!found || property.verdict != judgement.verdict || !found->error.empty() || fails_alone(*found)) continue;
    const WrongValue kind = gravest_of(*found);
    if (kind >= gravest) continue;
    gravest = kind;
    judgement.failed_property = property.name;
    judgement.counterexample = found;
  }
}

void note_exp_of_zero(const KernelSubject& subject, KernelJudgement& judgement) {
  constexpr std::array ops{"softmax", "log_softmax", "logsumexp", "entropy"};
  if (std::ranges::find(ops, to_string(subject.op)) == ops.end()) return;
  const auto may_be = [&](const numerics::Certificate& failed) { return may_be_of_exp_of_zero(subject, failed); };
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    if (std::ranges::none_of(property.outcome.counterexample->failed, may_be)) continue;
    judgement.notes.push_back("a failing row has equal logits: each of its exponentials is exp(0), which is exactly 1");
    return;
  }
}

}  // namespace softcheck::proptests
