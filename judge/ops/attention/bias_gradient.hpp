#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/head_pairs.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Is a number of the bias one for all queries, and one for all keys?
struct BiasSharing {
  bool queries = false, keys = false;
};

/// The gradient by a bias of some heads that share it, p (g - delta) of each of its numbers, summed over all pairs that
/// have that number (docs/tolerances/attention_backward.md). A number whose keys no such query sees is 0.
///
/// Claims: the op's last; kernel.masked_row of numbers that must be 0.
class BiasGradient {
 public:
  /// heads   the queries of each head, in each batch that shares the bias; their numbers outlive this. A number in
  ///         which a query that is not chosen has a part is not judged, and its exact value and threshold are NaN
  BiasGradient(const AttentionTask& task, std::vector<GradientGroup> heads, BiasSharing sharing = {});
  BiasGradient(const BiasGradient&) = delete;
  BiasGradient& operator=(const BiasGradient&) = delete;

  /// Row i of the bias, a number for each key, or one for all.
  RowVerdicts judge(std::size_t i, std::span<const double> got);
  /// The exact values between two doubles, at most four apart but where terms cancel beyond 512 bits.
  void exact(std::size_t i, std::span<double> lower, std::span<double> upper);
  /// What the contract grants: 0 where a value must be 0, infinite where nothing is promised.
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

/// Judges the gradient by the bias of a call, whose format is that of the inputs.
///
/// attention   it has a bias, and is dense
/// got         of the bias's shape
/// chosen      of batch b, head h, query i; empty: all. Rows of the bias that another query has a share in are left out
/// each        called with batch, head of the bias and query
void judge_bias_gradient(const AttentionTask& task, const AttentionCase& attention, std::span<const double> got,
                         const std::function<bool(std::size_t b, std::size_t h, std::size_t i)>& chosen,
                         const std::function<void(std::size_t b, std::size_t h, std::size_t i, RowVerdicts)>& each);

}  // namespace softcheck::proptests
