#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/group_pairs.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The gradient by one head's sink, -sum p_sink delta over its queries in all batches, judged by sink_gradient_error
/// (docs/tolerances/attention_backward.md). It has the format task.scalars.
///
/// Claims: the op's fourth; kernel.masked_row if no query of the head sees a key: the gradient is then 0.
class SinkGradient {
 public:
  /// batches   the queries of the head in each batch, all chosen; their numbers must outlive this object
  SinkGradient(const AttentionTask& task, std::vector<GradientGroup> batches);
  SinkGradient(const SinkGradient&) = delete;
  SinkGradient& operator=(const SinkGradient&) = delete;

  RowVerdicts judge(double got);
  /// The exact value between two doubles at most four doubles apart, except if terms cancel beyond 512 bits.
  void exact(double& lower, double& upper);
  /// The threshold: 0 if the value must be 0, infinite if nothing is promised.
  double granted() const;

 private:
  struct Sum {
    std::optional<Judgeable> value;  // empty: the value must be 0, or nothing is promised
    bool usable = true, unbounded = false;
  };
  template <class Each>
  void each_seeing(Each each) const;
  Sum sum() const;
  numerics::Enclosure enclosed();

  const AttentionTask task_;
  numerics::Contract contract_;  // the task's, with the format of the result
  std::deque<HeadPairs> batches_;
  std::size_t queries_ = 0;
};

/// Judges the gradient by the sink of query head h. Nothing if a query of the head was not chosen.
///
/// attention   a case with sinks
/// chosen      for batch b, query i; empty: all
std::optional<RowVerdicts> judge_sink_gradient(const AttentionTask& task, const AttentionCase& attention, std::size_t h,
                                               double got,
                                               const std::function<bool(std::size_t b, std::size_t i)>& chosen = {});

}  // namespace softcheck::proptests
