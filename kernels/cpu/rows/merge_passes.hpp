#pragma once

#include <cstddef>

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_passes.hpp"

// The vector passes of a merge of partial states.
namespace softcheck::kernels::cpu {

/// Most columns of a weighted_sum.
template <class T>
inline constexpr std::size_t merged_columns = 16 * column_group<T>;

/// values = exp(values), or 2^values where base_2, each at most 0 or -inf; 1 at 0. count is a multiple of
/// block_lanes<double>. Contract exp=1ulp, A: 1; for base 2 with the argument's second rounding that B16 grants: the
/// derivation is in docs/kernels/merge_states.md.
void exponentials(double* values, std::size_t count, bool base_2);

/// values = ln(1 + values), each at least 0: for results in f32, 3 ulp of double.
void narrow_logarithms(double* values, std::size_t count);

/// out = sum weight[k] part[k], a chain of multiply-adds from 0 over the parts, in order. width: a multiple of
/// column_group, at most merged_columns.
void weighted_sum(const float* const* parts, const float* weights, std::size_t count, std::size_t width, float* out);
void weighted_sum(const double* const* parts, const double* weights, std::size_t count, std::size_t width, double* out);

}  // namespace softcheck::kernels::cpu
