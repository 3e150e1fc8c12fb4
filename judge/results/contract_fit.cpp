#include "judge/results/contract_fit.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>
#include <vector>

#include "judge/trial/command_line.hpp"
#include "judge/trial/contract_forms.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Contract;
using numerics::MaskedRows;

bool has_failed(const TensorJudgement& judgement, std::string_view claim) {
  return std::ranges::any_of(
      judgement.rows, [&](const ReportRow& row) { return row.claim == claim && row.verdict == ReportVerdict::fail; });
}

// Did claims fail that no contract changes?
bool fails_otherwise(const TensorJudgement& judgement) {
  return has_failed(judgement, "kernel.nan_row") || has_failed(judgement, "kernel.infinite_row");
}

std::vector<MaskedRows> conventions(const Contract& contract, const TensorJudgement& judgement) {
  if (!has_failed(judgement, "kernel.masked_row")) return {contract.masked};
  return {MaskedRows::nan, MaskedRows::zero, MaskedRows::uniform};
}

// An arithmetic narrower than the output would explain nearly any number, and few kernels have one; f64 results
// computed in f32 are the exception.
bool is_plausible(const Contract& candidate, const Contract& contract) {
  const auto precision = [](numerics::Format format) { return numerics::properties(format).precision; };
  const int least =
      std::min({precision(contract.output), precision(contract.accumulator), precision(numerics::Format::f32)});
  // A wider accumulator than the given one grants less.
  return precision(candidate.accumulator) <= precision(contract.accumulator) &&
         precision(candidate.accumulator) >= least;
}

std::vector<Contract> candidates(Op op, const Contract& contract, const TensorJudgement& judgement) {
  const ContractForms forms(op, numerics::default_contract(contract.input, contract.output));
  std::vector<Contract> result;
  for (const MaskedRows masked : conventions(contract, judgement)) {
    Contract plain = contract;
    plain.masked = masked;
    if (plain != contract) result.push_back(plain);
    for (const Contract& form : forms.arithmetics(plain)) {
      if (!is_plausible(form, contract)) continue;
      for (const char* exponential : forms.exponentials()) {
        const Contract candidate = with_exponential(form, exponential);
        if (candidate.exp_error >= contract.exp_error && !forms.is_worse_than_narrower(candidate)) {
          result.push_back(candidate);
        }
      }
    }
  }
  return result;
}

// The task with attributes that the caller may have forgotten, the likeliest first.
std::vector<std::pair<std::string, TensorTask>> readings(const TensorTask& task) {
  std::vector<std::pair<std::string, TensorTask>> result;
  if (!task.op->is_attention() || task.op->is_linear()) return result;
  const auto add = [&](const char* words, bool causal, bool top_left) {
    if (causal == task.causal && top_left == task.attributes.causal_top_left) return;
    result.emplace_back(words, task);
    result.back().second.causal = causal;
    result.back().second.attributes.causal_top_left = top_left;
  };
  add("as causal attention: causal=True (--causal) was not passed", true, false);
  if (task.op->attributes) {
    add("as causal attention whose first query stands at the first key: need causal_top_left (--top-left) beside "
        "causal",
        true, true);
  }
  add("without causality: causal (--causal) was passed", false, false);
  return result;
}

}  // namespace

std::string ContractFit::text() const {
  if (!reading.empty()) return "cause: every row is right " + reading + "\n";
  if (contract) {
    const std::string words = words_beyond_default(*contract);
    return "every row keeps the " + (words.empty() ? "default contract" : "contract '" + words + "'") +
           ": give that one if the kernel is meant to compute so\n";
  }
  return all_tried && tried > 0 ? "none of " + std::to_string(tried) + " usual contracts allow these results\n" : "";
}

double seconds_for_fit(const TensorJudgement& judgement) { return 2 + judgement.seconds; }

ContractFit fitting_contract(const TensorTask& task, const Contract& contract, std::span<const GivenTensor> outputs,
                             const TensorJudgement& judgement, const TensorOptions& options, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::clock_t processor_start = std::clock();
  const auto spent = [&] {
    constexpr int most_contenders = 4;
    return std::max(static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC,
                    std::chrono::duration<double>(Clock::now() - start).count() / most_contenders);
  };
  ContractFit fit;
  if (judgement.failed == 0 || !judgement.ended_early.empty() || fails_otherwise(judgement)) return fit;
  TensorOptions quick;
  quick.worst = 1;
  quick.exempt = options.exempt;
  quick.first_failure = true;
  quick.interrupted = [&] { return spent() >= seconds || (options.interrupted && options.interrupted()); };
  for (auto& [words, other] : readings(task)) {
    if (judge_tensors(other, contract, outputs, quick).verdict == ReportVerdict::pass) {
      fit.reading = words;
      return fit;
    }
  }
  for (const Contract& candidate : candidates(task.op, contract, judgement)) {
    const TensorJudgement tried = judge_tensors(task, candidate, outputs, quick);
    if (quick.interrupted()) return fit;
    ++fit.tried;
    if (tried.verdict == ReportVerdict::pass) {
      fit.contract = candidate;
      return fit;
    }
  }
  fit.all_tried = true;
  return fit;
}

}  // namespace softcheck::proptests
