#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/group_pairs.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Do all queries share each number of the bias, and do all keys?
struct BiasSharing {
  bool queries = false, keys = false;
};

/// The gradient by a bias that some heads share: for each number p (g - delta), summed over all pairs that use it
/// (docs/tolerances/attention_backward.md). It is 0 if no query sees the number's keys.
///
/// Claims: the op's last; kernel.masked_row for numbers that must be 0.
class BiasGradient {
 public:
  /// heads   the queries of each head, in each batch that shares the bias; their numbers must outlive this object. A
  ///         number to which an unchosen query contributes is not judged; its exact value and threshold are NaN
  BiasGradient(const AttentionTask& task, std::vector<GradientGroup> heads, BiasSharing sharing = {});
  BiasGradient(const BiasGradient&) = delete;
  BiasGradient& operator=(const BiasGradient&) = delete;

  /// Judges row i of the bias: one number per key, or one for all.
  RowVerdicts judge(std::size_t i, std::span<const double> got);
  /// The exact values between two doubles at most four doubles apart, except if terms cancel beyond 512 bits.
  void exact(std::size_t i, std::span<double> lower, std::span<double> upper);
  /// The thresholds: 0 if a value must be 0, infinite if nothing is promised.
  void granted(std::size_t i, std::span<double> allowed) const;

 private:
  struct Number {
    Judgeable value;
    bool zero = false, known = true, usable = true;
  };
  template <class Each>
  void each_pair(std::size_t i, std::size_t j, Each each) const;
  Number number(std::size_t i, std::size_t j) const;
  numerics::Enclosure enclosed(std::size_t i, std::size_t j);
  template <class Each>
  void each_query(std::size_t i, Each each) const;

  const AttentionTask task_;
  BiasSharing sharing_;
  std::deque<HeadPairs> heads_;
};

/// Judges the gradient by a call's bias. It has the inputs' format.
///
/// attention   a dense case with a bias
/// got         in the bias's shape
/// chosen      for batch b, head h, query i; empty: all. Skips rows of the bias to which another query contributes
/// each        called with batch, bias head and query
void judge_bias_gradient(const AttentionTask& task, const AttentionCase& attention, std::span<const double> got,
                         const std::function<bool(std::size_t b, std::size_t h, std::size_t i)>& chosen,
                         const std::function<void(std::size_t b, std::size_t h, std::size_t i, RowVerdicts)>& each);

}  // namespace softcheck::proptests
