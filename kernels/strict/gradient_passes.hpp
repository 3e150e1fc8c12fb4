#pragma once

#include "kernels/block/attention_backward.hpp"
#include "kernels/strict/attention_passes.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// GradientSums of each thread.
template <class T>
struct ThreadGradients {
  BlockSums<T> weights, gradients, deviations, products;
};

/// QueryGradient of as many queries as a block has threads.
template <class T>
struct QueryGradients {
  T maximum[threads];
  T beta[threads];
  T factor[threads];
  T mean[threads];
  T own_factor[threads];
  T own_mean[threads];
  T of_entropy[threads];

  /// count queries from first on that are all the same.
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

template <class T>
struct GradientPasses {
  /// What query_gradient() adds of a block's keys, those of the first used threads at least. a: d_out v of each.
  /// maximum is finite.
  void (*add_gradients)(const T* scores, const T* a, std::size_t used, T maximum, T beta, bool adaptive,
                        ThreadGradients<T>& sums);
  /// score_gradient() of a block's scores, thread t's that of query t; of what is -inf the weight is -1, the slope
  /// 0.
  void (*differentiate)(const T* scores, const T* a, const QueryGradients<T>& of, bool adaptive, T* weights, T* slopes);
};

template <class T>
const GradientPasses<T>& gradient_passes();
template <>
const GradientPasses<float>& gradient_passes<float>();
template <>
const GradientPasses<double>& gradient_passes<double>();

}  // namespace softcheck::kernels::strict
