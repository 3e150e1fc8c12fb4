#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "proptests/generators/attention.hpp"
#include "proptests/judge/attention_judge.hpp"

namespace softcheck::proptests {

/// Judges the gradient by the bias, p (g - delta) of each of its numbers, summed over the heads that share it
/// (docs/tolerances/attention_backward.md). It has the inputs' format. A number of a key that no such query sees is 0.
///
/// attention   it has a bias, and is dense
/// got         of the bias's shape
/// chosen      of batch b, head h, query i; empty: all. Rows of the bias that another query has a share in are left out
/// each        called with batch, head of the bias and query
///
/// Claims: the op's last; kernel.masked_row of numbers that must be 0.
void judge_bias_gradient(const AttentionTask& task, const AttentionCase& attention, std::span<const double> got,
                         const std::function<bool(std::size_t b, std::size_t h, std::size_t i)>& chosen,
                         const std::function<void(std::size_t b, std::size_t h, std::size_t i, RowVerdicts)>& each);

}  // namespace softcheck::proptests
