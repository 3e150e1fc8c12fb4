#pragma once

#include "kernels/block/attention_backward.hpp"
#include "kernels/strict/attention_passes.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// The GradientSums of each thread of a block.
template <class T>
struct ThreadGradients {
  BlockSums<T> weights, gradients, deviations, products;
};

/// The QueryGradient of as many queries as a block has threads, entry t of query t.
template <class T>
struct QueryGradients {
  T maximum[threads];
  T beta[threads];
  T factor[threads];
  T mean[threads];
  T own_factor[threads];
  T own_mean[threads];
  T of_entropy[threads];

  /// Sets queries first to first + count - 1 to the same numbers.
  void fill(std::size_t first, std::size_t count, const QueryGradient<T>& of) {
    std::fill_n(maximum + first, count, of.maximum);
    std::fill_n(beta + first, count, of.beta);
    std::fill_n(factor + first, count, of.factor);
    std::fill_n(mean + first, count, of.mean);
    std::fill_n(own_factor + first, count, of.own_factor);
    std::fill_n(own_mean + first, count, of.own_mean);
    std::fill_n(of_entropy + first, count, of.of_entropy);
  }
};

/// The passes of the gradients, compiled for the instruction set of this machine.
template <class T>
struct GradientPasses {
  /// add_gradient() of each thread for one score, where it is not -inf: thread t has scores[t] and a[t].
  ///
  /// scores, a   (used rounded up to whole vectors of most_lanes); a: the gradient of a weight, d_out v in attention
  /// used        threads that have a score. The threads of the last vector beyond them have scores of -inf.
  /// maximum     finite, the same for all threads, as is beta
  void (*add_gradients)(const T* scores, const T* a, std::size_t used, T maximum, T beta, bool adaptive,
                        ThreadGradients<T>& sums);
  /// score_gradient() of each thread for one score, thread t with the numbers of query t. Where a score is -inf, weight
  /// and slope are -1 and 0.
  ///
  /// scores, a, weights, slopes   (threads)
  void (*differentiate)(const T* scores, const T* a, const QueryGradients<T>& of, bool adaptive, T* weights, T* slopes);
};

/// The passes for float or double, of the instruction set that was chosen at run time.
template <class T>
const GradientPasses<T>& gradient_passes();
template <>
const GradientPasses<float>& gradient_passes<float>();
template <>
const GradientPasses<double>& gradient_passes<double>();

}  // namespace softcheck::kernels::strict
