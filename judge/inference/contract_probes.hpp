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

/// A kernel's results for one row or one query. Any contract can be compared with them later, without another call.
struct Probe {
  std::string text;      // the row, for a reader
  std::size_t size = 0;  // logits, or keys
  std::function<RowVerdicts(const numerics::Contract&)> judge;
  std::optional<bool> keeps_own = {};  // ProbeSet::judge_unbounded_by, once it was asked
};

/// The share of a contract's thresholds that a set of results uses.
struct ProbeShare {
  bool holds = true;
  double share = 0;     // largest error / threshold; of the first answer that broke it, where one did
  std::string witness;  // of that answer
};

/// Results of one kernel. The result that broke the last contract is compared first with the next.
class ProbeSet {
 public:
  void add(Probe probe);
  std::size_t size() const { return probes_.size(); }
  /// Compares every result with its threshold under the contract, until one breaks it.
  ProbeShare against(const numerics::Contract& contract);
  /// Where a contract's thresholds are infinite it grants anything, a wrong result, too: such a row keeps it only if it
  /// keeps this one.
  void judge_unbounded_by(const numerics::Contract& own) { own_ = own; }
  /// Compares the one that broke the last contract alone.
  ProbeShare last_against(const numerics::Contract& contract);
  /// The threshold of the longest row's worst value; 0 where there is none.
  double threshold(const numerics::Contract& contract) const;
  const std::vector<Probe>& probes() const { return probes_; }

 private:
  ProbeShare compared(std::size_t count, const numerics::Contract& contract);
  bool keeps_own(std::size_t i);

  std::vector<Probe> probes_;
  std::optional<numerics::Contract> own_;
};

/// Calls a kernel with rows of an op, alone or many of one length together. Refused rows have no results.
class Prober {
 public:
  /// domain   no call is made outside it; items without weight lengthen a row that is too short for it
  /// throws   KernelLoadError
  Prober(const KernelSource& source, Op op, numerics::Format input, numerics::Format output, const Domain& domain,
         const KernelLimits& limits);

  /// rows   at least one, each as long as the first. Of attention a row is the keys of one query, of dimension 1, at a
  ///        scale of 1; the values pick the weights of the first and the last key. There is no theta but 1.
  /// auxiliary  what stands beside the logits (RowCase::auxiliary)
  void ask(const std::vector<std::vector<double>>& rows, double theta, ProbeSet& probes, std::uint64_t auxiliary = 0);
  /// A row with nothing visible: hidden by a mask, else by what hides items without one.
  void ask_masked(bool by_mask, ProbeSet& probes);
  /// For attention: every query is a result, of its gradient every batch. If the kernel refuses lse or entropy, the
  /// call is made without them.
  ///
  /// shown   which queries are results; empty: all
  void ask(const AttentionCase& attention, ProbeSet& probes,
           const std::function<bool(const AttentionRow&)>& shown = {});
  Op op() const { return op_; }
  /// A call crashed or took too long: no more calls are made.
  bool died() const { return died_; }
  /// Calls that the kernel refused.
  std::size_t refused() const { return refused_; }

 private:
  void ask_attention(const std::vector<std::vector<double>>& rows, ProbeSet& probes);
  void ask_blind_queries(bool by_mask, ProbeSet& probes);
  std::optional<MaskUse> mask_of(const std::vector<std::vector<double>>& rows) const;
  /// The results; none unless the call was done.
  std::vector<std::vector<double>> call(const TensorCall& tensors);
  std::vector<std::vector<double>> call(const RowMatrixCase& matrix);

  IsolatedKernel kernel_;
  Op op_;
  numerics::Format input_, output_;
  Domain domain_;
  bool died_ = false;
  std::size_t refused_ = 0;
};

/// Is it attention's gradient? Its results show coefficients in dv, and have the inputs' format.
bool is_gradient(Op op);

/// Pairs of logits D theta apart: their error does not depend on the order of summation, but on the exponential.
///
/// least, most   of D
void ask_pairs(Prober& prober, numerics::Format input, double least, double most, std::size_t count,
               std::span<const double> shifts, ProbeSet& probes);

/// Queries and keys of several dimensions, whose scores round, at scales that are not powers of two.
void ask_scores(Prober& prober, numerics::Format input, ProbeSet& probes);

/// Two, four and eight equal logits: each coefficient is exactly 1/n.
void ask_equal_rows(Prober& prober, numerics::Format input, ProbeSet& probes);

/// The tightness witness (docs/tolerances.md, B1): one logit of 0 and n - 1 a little less than p ln 2 below it, p the
/// accumulator's precision, so that each of their weights is a little above half of the last place of 1 and every
/// addition to the 1 rounds up. Once with the 0 first and once with it last, because kernels add in either direction.
void ask_half_ulps(Prober& prober, numerics::Format input, numerics::Format accumulator, std::uint64_t n,
                   ProbeSet& probes);

}  // namespace softcheck::proptests
