#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/inference/contract_grade.hpp"
#include "judge/inference/contract_probes.hpp"
#include "judge/trial/contract_forms.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// The reason for an inferred word.
enum class Evidence {
  measured,  // results broke the next tighter standard word
  held,      // the tightest standard word, and no result broke it
  assumed    // the default: no result of this op and these formats could decide it
};

const char* to_string(Evidence evidence);

struct InferredWord {
  std::string word;  // "sum=lanes:8"
  Evidence evidence = Evidence::assumed;
  std::string why;
};

/// A candidate that results broke.
struct BrokenCandidate {
  numerics::Contract contract;
  ProbeShare share;
};

/// How the search decided one word.
struct ContractStep {
  std::optional<BrokenCandidate> broken;  // the last candidate broken before one held
  ProbeShare share;                       // of the candidate that held
};

/// The search of infer_contract (contract_inference.hpp): collects a kernel's results once, then compares them with one
/// candidate after the other.
class ContractSearch {
 public:
  /// subject  only the formats of its contract are read
  /// throws   KernelLoadError
  ContractSearch(const KernelSubject& subject, const JudgeOptions& options);

  /// The first candidate, from tight to wide, that every result keeps.
  std::optional<numerics::Contract> first();
  /// Adds a row, or a call of attention, that a candidate must explain.
  void add(const RowCase& row_case) { prober_.ask({row_case.row.expand()}, row_case.theta, rows_, row_case.auxiliary); }
  void add(const AttentionCase& attention) { prober_.ask(attention, rows_); }
  /// Does any standard accumulator explain the added rows? None explains an infinity whose exact value is finite.
  bool can_explain_rows();
  /// The contract to judge the kernel by if none was found: the widest candidate with its own format's accumulator.
  numerics::Contract widest() const;
  /// The result that breaks even that contract; empty if none does.
  std::string failure();
  /// The reasons for each word of `found`, which first() returned.
  std::vector<InferredWord> words(const numerics::Contract& found);
  /// The words of `found` that are weaker than the dtype's own arithmetic, and how many rows need them.
  ContractGrade grade(const numerics::Contract& found);
  /// Number of rows whose results were compared with the candidates.
  std::size_t answers() const {
    return pairs_.size() + equal_.size() + scores_.size() + tiny_.size() + sums_.size() + masked_.size() +
           paper_.size() + rows_.size();
  }

 private:
  void choose_lengths(std::uint64_t max_length);
  void ask(std::uint64_t max_length);
  std::vector<numerics::Summation> summations() const;
  bool tells_orders(numerics::Contract contract);
  bool find_summation(numerics::Contract& contract);
  std::optional<numerics::Contract> find_exponential(const ContractForms::Arithmetic& arithmetic,
                                                     std::optional<BrokenCandidate>& broken);
  ProbeShare equal_rows_against(const numerics::Contract& candidate);
  bool has_no_answers() const;
  numerics::Contract where_unbounded() const;
  bool find_arithmetic(numerics::Contract& contract);
  bool find_masked(numerics::Contract& contract);
  bool find_subnormals(numerics::Contract& contract);
  void find_entropy(numerics::Contract& contract);
  InferredWord word(const numerics::Contract& found, const char* key, const std::string& assumed,
                    const std::string& held);

  Op op_;
  numerics::Contract base_;
  ContractForms forms_;
  Prober prober_;
  std::vector<std::uint64_t> lengths_;  // of the tightness witnesses
  ProbeSet pairs_, equal_, scores_, tiny_, sums_, masked_, paper_, rows_;
  std::map<std::string, ContractStep> steps_;  // by the word's key
  numerics::MaskedRows masked_rows_ = numerics::MaskedRows::nan;
};

}  // namespace softcheck::proptests
