#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/domains/domain.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// A kernel's call: op, inputs and parameters. The judge calls no kernel.
///
/// inputs   softmax family: logits (..., n)[, mask]; its gradients: saved (..., n), out_gradient (..., n); losses:
///          logits (..., n), labels (...)[, upstream (...)][, class_weights (n)], with upstream () if the attribute
///          mean reduces all rows to one loss; attention: q (..., queries, dim), k (..., keys, dim), v (..., keys,
///          value dim)[, mask (..., queries, keys)], two to four dimensions: (batch, heads, length, dim) from the
///          right, where the heads of k and v divide q's. A mask is broadcast as in NumPy. Top-k: logits (..., n);
///          attributes k and renormalize. Merges: out (parts, ..., dim), lse (parts, ...); attribute lse_base2.
///          Attention's gradient: q, k, v[, out, lse], out_gradient (like out)[, mask], and in any order by their roles
///          sinks (heads), slopes (heads) and bias, broadcast to (batch, heads, queries, keys); k and v have the same
///          heads; attributes window_*_plus_1, softcap and causal_top_left. With out and lse the judge assumes that the
///          kernel read these, otherwise those of a forward pass of the same contract
struct TensorTask {
  Op op = Op::softmax;
  std::vector<GivenTensor> inputs;
  double theta = 1;     // > 0: softmax(logits / theta)
  double scale = 1;     // attention: softmax(scale q k^T)
  bool causal = false;  // attention: the last query is aligned with the last key
  Attributes attributes = {.ignore_index = usual_ignore_index};  // those that the op has
  std::vector<Role> roles = {};                                  // of the inputs; empty: the op's own, then the mask
  /// The optional outputs that the caller has, by number, ascending: for attention's gradient 3 (dsinks) and 4 (dbias).
  std::vector<std::size_t> asked = {};
};

struct TensorOptions {
  std::size_t worst = 10;             // number of rows to report
  std::set<std::string> exempt = {};  // claims that are noted but not judged
  std::function<void(std::size_t done, std::size_t rows)> progress = {};
  bool first_failure = false;              // stop at the first failing row
  std::function<bool()> interrupted = {};  // true ends the work; the judgement is then undecided unless a row failed
};

/// One row of a tensor and its worst finding. For attention's gradient the rows are the queries (dq), then the keys (dk
/// and dv), then the sinks and the rows of the bias if the caller has their gradients.
struct JudgedTensorRow {
  std::vector<std::int64_t> index;  // in the outputs' leading dimensions
  ValueFinding finding;             // the worst
  double share = 0;                 // used share of its threshold
  std::size_t row = 0;              // row number
};

/// Width of a bin of TensorJudgement::histogram.
constexpr double slack_bin_width = 0.05;

struct TensorJudgement {
  ReportVerdict verdict = ReportVerdict::undecided;
  std::vector<ReportRow> rows;         // one per claim
  std::vector<JudgedTensorRow> worst;  // failed rows first, then by share; at most TensorOptions::worst
  std::size_t judged = 0;              // number of rows
  std::size_t failed = 0;              // of these
  /// The largest used share in each of up to 512 equal stretches of rows, in order; infinite if a value broke a rule
  /// without a threshold.
  std::vector<double> profile;
  /// Number of rows by used share of their threshold: 40 bins of 0.05 up to 2, then one for all above.
  std::vector<std::size_t> histogram;
  VacuityCount vacuity;
  std::string ended_early;
  double seconds = 0;
};

/// Judges tensors by the thresholds of a contract, row by row, without calling a kernel.
///
/// outputs   in the ABI's order (kernels/abi/softcheck_kernel.h): elements in the inputs' shape, row scalars (...) or
///           (..., 1); attention: out[, lse[, entropy]]; top-k: weights (..., k), ids (..., k) of int32 or int64;
///           merges: out (..., dim), lse (...); attention's gradient: dq, dk, dv[, dsinks][, dbias], where the last two
///           have the shapes of the sinks and the bias, and TensorTask::asked lists them
/// contract  has the tensors' formats (contract_for)
/// throws    std::invalid_argument with the tensor, what is needed and what was given, if shapes or dtypes disagree
TensorJudgement judge_tensors(const TensorTask& task, const numerics::Contract& contract,
                              std::span<const GivenTensor> outputs, const TensorOptions& options = {});

/// The contract of these words with the tensors' formats.
///
/// output   of the first output; nothing: the op's format for these inputs
/// throws   std::invalid_argument, numerics::ContractError
numerics::Contract contract_for(const TensorTask& task, std::string_view words,
                                std::optional<numerics::Format> output = std::nullopt);

/// The shape of an output of the task: which = 0 is the first; for attention 1 is lse and 2 entropy; for its gradient 3
/// is dsinks and 4 dbias. The caller need not have them.
///
/// throws   std::invalid_argument if the op has no such output, or the task lacks the input that it is a gradient by
std::vector<std::int64_t> output_shape(const TensorTask& task, std::size_t which = 0);

/// The exact values, each between two doubles; compact and row-major. NaN where the ABI requires NaN; fully masked rows
/// by masked=; the limit for a visible +inf. Top-k chooses the largest items, of equal ones those with the lowest
/// indices.
///
/// contract       defines fully masked rows, and the entropy that adaptive ops use
/// lower, upper   as many as output_shape has elements
/// error          upper - lower is at most a few ulps of a double
void reference(const TensorTask& task, const numerics::Contract& contract, std::size_t which, std::span<double> lower,
               std::span<double> upper);

/// The threshold of each value: |got - exact| <= threshold. 0 for values that must be exact (masked items), infinite if
/// nothing is promised, NaN for values without a threshold (NaN, fully masked rows, and ids, since nearly equal items
/// may be exchanged). Never larger than what the contract grants; for top-p it assumes the exact choice, while the
/// judge may accept others.
void thresholds(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                std::span<double> allowed);

/// A softmax row for which all claims of judge_values are proved.
struct QuickRow {
  double element_share = 0;         // the largest share of a threshold that an element uses
  std::optional<double> sum_share;  // the same for the row's sum, if anything is promised for it
  ErrorSums errors;                 // errors of the elements
  VacuityCount vacuity;
};

/// The result of judge_values for a row, if the filter alone proves all its claims; nothing otherwise: then call
/// judge_values. Derivation: docs/kernels/files.md, "The quick way".
///
/// logits   (n) finite or -inf, at least one finite
/// got      (n)
std::optional<QuickRow> quick_softmax(const numerics::Contract& contract, std::span<const double> logits, double theta,
                                      std::span<const double> got);

}  // namespace softcheck::proptests
