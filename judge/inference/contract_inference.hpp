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

/// The contract that was found for a kernel.
struct Inference {
  std::optional<numerics::Contract> contract;  // none: every standard contract was broken, or says nothing
  std::vector<InferredWord> words;             // in the order of the contract's
  ContractGrade grade;                         // of the contract
  std::size_t answers = 0;                     // rows whose results were held against the candidates
  std::string failure;                         // why there is no contract
  KernelSubject subject;                       // with that contract, else with the widest one tried
  KernelJudgement judgement;                   // of that subject

  /// The judgement's verdict, but undecided where too few rows need a weaker word of the contract.
  ReportVerdict verdict() const;
  /// The report's last line without its rows: the grade, or why there is no contract.
  std::string summary() const;
};

/// Finds the standard contract that grants a kernel the least among those it keeps to. Standard are: acc=f64 (where
/// the output can show it), f32, f16, bf16; exp=1ulp to 2048ulp and with A:3; sum=tree, blocks:K, lanes:K (K a power of
/// two), sequential; the forms that other words name (ContractAnswers::words); and the words of the other conventions.
/// The search calls the kernel with pairs of logits (exp and accumulator, without a long sum), tightness witnesses of
/// several lengths (order of summation) and masked rows. It compares the results with one candidate after the other.
/// Then it judges the kernel by the contract found; a row that fails must fit the next, wider candidate. This proves no
/// contract: other rows may break it.
///
/// subject  only the formats of its contract are read
/// throws   KernelLoadError
Inference infer_contract(const KernelSubject& subject, const JudgeOptions& options);

/// A row "contract.acc" and so on for each word, one "contract.grade", and those of the judgement by the contract that
/// was found.
///
/// strict   a contract of weaker words than the dtype's own arithmetic is undecided
std::vector<ReportRow> rows_of(const Inference& inference, bool strict = false);

}  // namespace softcheck::proptests
