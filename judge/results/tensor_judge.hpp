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

/// What somebody asked of a kernel: op, inputs and parameters. No kernel is called.
///
/// inputs   softmax family: logits (..., n)[, mask]; its gradients: saved (..., n), out_gradient (..., n); losses:
///          logits (..., n), labels (...)[, upstream (...)][, class_weights (n)], upstream () where the attribute
///          mean says how one loss is made of all rows; attention: q (..., queries, dim), k
///          (..., keys, dim), v (..., keys, value dim)[, mask (..., queries, keys)], two to four dimensions: (batch,
///          heads, length, dim) from the right, k's and v's heads divide q's. A mask is broadcast as NumPy does. Top-k:
///          logits (..., n); attributes k and renormalize. Merges: out (parts, ..., dim), lse (parts, ...); attribute
///          lse_base2. Attention's gradient: q, k, v[, out, lse], out_gradient (like out)[, mask], and in any order by
///          their roles sinks (heads), slopes (heads) and bias, broadcast to (batch, heads, queries, keys); k and v
///          have the same heads; attributes window_*_plus_1, softcap and causal_top_left. With out and lse it is judged
///          as one that read them, else as one that read those of a forward pass of the same contract
struct TensorTask {
  Op op = Op::softmax;
  std::vector<GivenTensor> inputs;
  double theta = 1;     // > 0: softmax(logits / theta)
  double scale = 1;     // attention: softmax(scale q k^T)
  bool causal = false;  // attention: the last query is aligned with the last key
  Attributes attributes = {.ignore_index = usual_ignore_index};  // as far as the op has them
  std::vector<Role> roles = {};                                  // of the inputs; none: the op's own, then the mask
  /// Of the outputs that a call need not have, those that are at hand, by their numbers, in order: of attention's
  /// gradient 3 (dsinks) and 4 (dbias).
  std::vector<std::size_t> asked = {};
};

struct TensorOptions {
  std::size_t worst = 10;             // rows that are shown
  std::set<std::string> exempt = {};  // claims that are noted and not judged
  std::function<void(std::size_t done, std::size_t rows)> progress = {};
  bool first_failure = false;              // a row that fails ends the judgement
  std::function<bool()> interrupted = {};  // true: what is known by then is the judgement, undecided unless it failed
};

/// One row of a tensor, and what was found of it. Of attention's gradient the rows are the queries, with their dq, and
/// behind them the keys, with their dk and dv, the sinks and the rows of the bias, as far as their gradients are at
/// hand.
struct JudgedTensorRow {
  std::vector<std::int64_t> index;  // in the leading dimensions of the outputs
  ValueFinding finding;             // the worst
  double share = 0;                 // of its threshold
  std::size_t row = 0;              // its number
};

/// Width of a bin of TensorJudgement::histogram.
constexpr double slack_bin_width = 0.05;

struct TensorJudgement {
  ReportVerdict verdict = ReportVerdict::undecided;
  std::vector<ReportRow> rows;         // one for each claim
  std::vector<JudgedTensorRow> worst;  // the failed ones first, then by share; at most TensorOptions::worst
  std::size_t judged = 0;              // rows
  std::size_t failed = 0;              // of these
  /// For each of up to 512 equal stretches of rows, in order, the largest share of a threshold used in it; infinite
  /// where a value failed that no threshold excuses.
  std::vector<double> profile;
  /// How many rows used so much of their threshold: 40 bins of 0.05 up to 2, then all above.
  std::vector<std::size_t> histogram;
  VacuityCount vacuity;
  std::string ended_early;
  double seconds = 0;
};

/// Judges results at hand by the thresholds of a contract, each row by itself: no kernel is called.
///
/// outputs   in the ABI's order (kernels/abi/softcheck_kernel.h): element outputs as the inputs' shapes have it, row
///           scalars (...) or (..., 1); attention: out[, lse[, entropy]]; top-k: weights (..., k), ids (..., k) of
///           int32 or int64; merges: out (..., dim), lse (...); attention's gradient: dq, dk, dv[, dsinks][, dbias],
///           the last two of the shapes of the sinks and of the bias, as TensorTask::asked has them
/// contract  its formats are those of the tensors (contract_for)
/// throws    std::invalid_argument naming the tensor, what is needed and what was got, where shapes or dtypes disagree
TensorJudgement judge_tensors(const TensorTask& task, const numerics::Contract& contract,
                              std::span<const GivenTensor> outputs, const TensorOptions& options = {});

/// The contract's words with the formats of these tensors.
///
/// output   of the first output; nothing: what the op writes for such inputs
/// throws   std::invalid_argument, numerics::ContractError
numerics::Contract contract_for(const TensorTask& task, std::string_view words,
                                std::optional<numerics::Format> output = std::nullopt);

/// Elements of an output of the task: which = 0 is the first, of attention 1 is lse and 2 entropy, of its gradient 3 is
/// dsinks and 4 dbias, whether they are at hand or not.
///
/// throws   std::invalid_argument where the op has no such output, or the task not what it is a gradient by
std::vector<std::int64_t> output_shape(const TensorTask& task, std::size_t which = 0);

/// The exact values, each between two doubles: compact and row-major. NaN where the ABI asks for NaN; a row with
/// nothing visible is what masked= says; of a visible +inf the limit. Of top-k the items chosen are the largest, of
/// equal ones those of the lowest indices.
///
/// contract       says what a fully masked row is, and which entropy adaptive ops look at
/// lower, upper   as many as output_shape has elements
/// error          upper - lower is at most a few ulps of a double
void reference(const TensorTask& task, const numerics::Contract& contract, std::size_t which, std::span<double> lower,
               std::span<double> upper);

/// What the contract grants at each value: |got - exact| <= threshold. 0 where a value must be exact (masked items),
/// infinite where nothing is promised, NaN where a value has no threshold (NaN, nothing visible, an id: equal items and
/// nearly equal ones may be exchanged). Never more than what is granted; of top-p that of the items that are kept
/// exactly, where the judge may grant other sets.
void thresholds(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                std::span<double> allowed);

}  // namespace softcheck::proptests
