#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/inference/contract_search.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// The contract that the search found for a kernel.
struct Inference {
  std::optional<numerics::Contract> contract;  // none: every standard contract is broken or vacuous
  std::vector<InferredWord> words;             // in the order of the contract's
  ContractGrade grade;                         // of the contract
  std::size_t answers = 0;                     // number of rows whose results were compared with the candidates
  std::string failure;                         // the reason if there is no contract
  bool says_nothing = false;                   // a contract holds, but its thresholds are as wide as values
  KernelSubject subject;                       // with that contract, or with the widest one tried
  KernelJudgement judgement;                   // of that subject

  /// The judgement's verdict, or undecided if too few rows need a weaker word of the contract.
  ReportVerdict verdict() const;
  /// The report's last line: the grade, or the reason why there is no contract.
  std::string summary() const;
};

/// Finds the standard contract that grants the least among those that a kernel keeps. Standard are: acc=f64 (if the
/// output can show it), f32, f16, bf16; exp=1ulp to 2048ulp and with A:3; sum=tree, blocks:K, lanes:K (K a power of
/// two), sequential; and every value of the words in ContractAnswers::words, masked= and subnormal=. The search calls
/// the kernel with pairs of logits (for exp and the accumulator, without a long sum), tightness witnesses of several
/// lengths (for the order of summation) and masked rows, and compares the results with one candidate after the other.
/// Then it judges the kernel by the contract found; if a row fails, it continues with the next wider candidate that
/// this row fits. This proves no contract: other rows may break it.
///
/// subject  only the formats of its contract are read
/// throws   KernelLoadError
Inference infer_contract(const KernelSubject& subject, const JudgeOptions& options);

/// The report's rows: "contract.acc" and so on, one per word, one "contract.grade", and those of the judgement by the
/// contract found.
///
/// strict   a contract with words weaker than the dtype's own arithmetic is undecided
std::vector<ReportRow> rows_of(const Inference& inference, bool strict = false);

}  // namespace softcheck::proptests
