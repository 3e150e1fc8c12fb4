#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// A kernel's results for one row or query, which can be compared with any contract later without another call.
struct Probe {
  std::string text;      // the row, for a reader
  std::size_t size = 0;  // logits, or keys
  std::function<RowVerdicts(const numerics::Contract&)> judge;
  std::optional<bool> keeps_own = {};  // the result of ProbeSet::judge_unbounded_by, once computed
};

/// The share of a contract's thresholds that some results use.
struct ProbeShare {
  bool holds = true;
  double share = 0;     // largest error / threshold; that of the first result that broke the contract, if one did
  std::string witness;  // of that result
};

/// The results of one kernel. The result that broke the last contract is compared with the next one first.
class ProbeSet {
 public:
  void add(Probe probe);
  std::size_t size() const { return probes_.size(); }
  /// Compares results with the contract's thresholds until one breaks it.
  ProbeShare against(const numerics::Contract& contract);
  /// A row whose threshold is infinite under a contract keeps it only if it keeps this one: an infinite threshold would
  /// grant wrong results, too.
  void judge_unbounded_by(const numerics::Contract& own) { own_ = own; }
  /// Compares only the result that broke the last contract.
  ProbeShare last_against(const numerics::Contract& contract);
  /// The threshold of the longest row's worst value; 0 without rows.
  double threshold(const numerics::Contract& contract) const;
  const std::vector<Probe>& probes() const { return probes_; }

 private:
  ProbeShare compared(std::size_t count, const numerics::Contract& contract);
  bool keeps_own(std::size_t i);

  std::vector<Probe> probes_;
  std::optional<numerics::Contract> own_;
};

/// Calls a kernel with rows of an op, one or many of the same length at a time. Refused rows give no results.
class Prober {
 public:
  /// domain   the calls to make; a row that is too short for it gets additional items without weight
  /// throws   KernelLoadError
  Prober(const KernelSource& source, Op op, numerics::Format input, numerics::Format output, const Domain& domain,
         const KernelLimits& limits);

  /// rows       at least one, all of the same length. For attention a row is the keys of one query, with dimension 1
  /// and scale 1; the values select the weights of the first and the last key. theta must be 1
  /// auxiliary  selects the other inputs (RowCase::auxiliary)
  void ask(const std::vector<std::vector<double>>& rows, double theta, ProbeSet& probes, std::uint64_t auxiliary = 0);
  /// Calls the kernel with a fully masked row: by the mask, or else without one.
  void ask_masked(bool by_mask, ProbeSet& probes);
  /// For attention: every query is a result; for its gradient every batch. If the kernel refuses lse or entropy, calls
  /// it without them.
  ///
  /// shown   which queries are results; empty: all
  void ask(const AttentionCase& attention, ProbeSet& probes,
           const std::function<bool(const AttentionRow&)>& shown = {});
  Op op() const { return op_; }
  /// Did a call crash or time out? Then no more calls are made.
  bool died() const { return died_; }
  /// Number of refused calls.
  std::size_t refused() const { return refused_; }

 private:
  void ask_attention(const std::vector<std::vector<double>>& rows, ProbeSet& probes);
  void ask_blind_queries(bool by_mask, ProbeSet& probes);
  std::optional<MaskUse> mask_of(const std::vector<std::vector<double>>& rows) const;
  /// The results; empty unless the call was done.
  std::vector<std::vector<double>> call(const TensorCall& tensors);
  std::vector<std::vector<double>> call(const RowMatrixCase& matrix);

  IsolatedKernel kernel_;
  Op op_;
  numerics::Format input_, output_;
  Domain domain_;
  bool died_ = false;
  std::size_t refused_ = 0;
};

/// Calls the kernel with pairs of logits that differ by D theta: the error depends on the exponential but not on the
/// order of summation.
///
/// least, most   range of D
void ask_pairs(Prober& prober, numerics::Format input, double least, double most, std::size_t count,
               std::span<const double> shifts, ProbeSet& probes);

/// Calls with queries and keys of several dimensions, whose scores round, at scales that are not powers of two.
void ask_scores(Prober& prober, numerics::Format input, ProbeSet& probes);

/// Calls with two, four and eight equal logits: each coefficient is exactly 1/n.
void ask_equal_rows(Prober& prober, numerics::Format input, ProbeSet& probes);

/// Calls with the tightness witness (docs/tolerances.md, B1): one logit of 0 and n - 1 logits slightly less than p ln 2
/// below it, where p is the accumulator's precision. Each of their weights is slightly more than half a last place of
/// 1, so every addition to the 1 rounds up. With the 0 first and with the 0 last, because kernels add in either
/// direction.
void ask_half_ulps(Prober& prober, numerics::Format input, numerics::Format accumulator, std::uint64_t n,
                   ProbeSet& probes);

}  // namespace softcheck::proptests
