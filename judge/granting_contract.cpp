#include "judge/granting_contract.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/trial/contract_forms.hpp"
#include "judge/trial/wrong_value.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;
using numerics::Contract;

constexpr std::size_t most_replayed = 3, most_contracts = 64;

bool is_of_value(const Certificate& failed) {
  const WrongValue kind = kind_of(failed);
  return kind == WrongValue::wrong || kind == WrongValue::inexact;
}

bool is_right(const KernelSubject& subject, const Contract& contract, const std::vector<const PropertyFinding*>& failed,
              const JudgeOptions& options) {
  KernelSubject other = subject;
  other.contract = contract;
  const std::size_t calls = std::min(most_replayed, failed.size());
  return std::all_of(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(calls), [&](const auto* property) {
    const std::string& case_text = property->outcome.counterexample->case_text;
    return replay_kernel(other, property->name, case_text, options).verdict == ReportVerdict::pass;
  });
}

// The contracts with the same accumulator that differ from the subject's in a few words, better exponentials first. Few
// kernels of wider inputs store anything in 16 bits.
std::vector<Contract> contracts_near(const KernelSubject& subject) {
  const Contract& own = subject.contract;
  const ContractForms forms(subject.op, own);
  const bool is_wide = numerics::properties(own.input).storage_bits > 16;
  const bool answers_exponentials = subject.op->answers.exponentials;
  std::vector<Contract> result;
  for (const char* exponential : {"", "exp=2ulp", "exp=E:8,A:3"}) {
    for (const Contract& form : forms.arithmetics(own)) {
      if (form.accumulator != own.accumulator || forms.words_set(form).size() > 2) continue;
      if (is_wide && !forms.weaker_words(form).empty()) continue;
      const Contract contract = *exponential == 0 ? form : with_exponential(form, exponential);
      if (*exponential == 0 ? form != own : answers_exponentials && contract.exp_error > own.exp_error) {
        result.push_back(contract);
      }
    }
  }
  result.resize(std::min(result.size(), most_contracts));
  return result;
}

// "weights=bf16 scale=split"
std::string words_beyond(const KernelSubject& subject, const Contract& contract) {
  const Contract& own = subject.contract;
  const ContractForms forms(subject.op, own);
  std::vector<std::string> keys = forms.words_set(contract);
  if (contract.exp_error != own.exp_error) keys.insert(keys.begin(), "exp");
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : " ") + word_of(contract, key);
  return text;
}

}  // namespace

void note_granting_contract(const KernelSubject& subject, const JudgeOptions& options, KernelJudgement& judgement) {
  if (judgement.verdict != ReportVerdict::fail || !judgement.ended_early.empty()) return;
  std::vector<const PropertyFinding*> of_values;
  bool others_fail = false;
  for (const PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    const Counterexample& found = *property.outcome.counterexample;
    const bool of_value = found.error.empty() && std::ranges::all_of(found.failed, is_of_value);
    of_value ? of_values.push_back(&property) : void(others_fail = true);
  }
  if (of_values.empty()) return;
  const bool has_scale = subject.op->is_attention() && !subject.op->is_linear();
  if (has_scale && subject.contract.scale == numerics::ScaleUse::whole) {
    Contract split = subject.contract, coarser = subject.contract;
    split.scale = numerics::ScaleUse::split;
    coarser.exp_error = std::fmax(subject.contract.exp_error, 8);
    if (is_right(subject, split, of_values, options) && !is_right(subject, coarser, of_values, options)) {
      judgement.notes.emplace_back(
          "cause: query and key seem to be multiplied by the root of the scale each: scale=split in a contract grants "
          "these errors; else multiply their product by the scale");
      return;
    }
  }
  const numerics::FormatProperties& output = numerics::properties(subject.contract.output);
  if (others_fail) {
    for (const Contract& contract : contracts_near(subject)) {
      if (!is_right(subject, contract, of_values, options)) continue;
      judgement.notes.push_back("cause: perhaps the contract: the smallest calls with wrong values are right under '" +
                                words_beyond(subject, contract) + "': give that if the kernel is meant to compute so");
      return;
    }
  } else if (output.storage_bits == 16 && subject.contract.accumulator != subject.contract.output) {
    const std::string name(output.name);
    const std::string words = "acc=" + name + " sum=tree";
    Contract narrow = subject.contract;
    narrow.accumulator = subject.contract.output;
    narrow.summation = numerics::parse_contract("sum=tree", narrow.input, narrow.output).summation;
    if (!is_right(subject, narrow, of_values, options)) return;
    // No word of a contract is missing.
    judgement.notes.push_back("cause: each step seems to be rounded to " + name +
                              ", for the smallest failing calls are right under '" + words +
                              "': compute in f32, and round the result once");
  }
}

}  // namespace softcheck::proptests
