#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "judge/survivors/criterion.hpp"

namespace softcheck::proptests {

/// Tensors of attention as a published test makes them.
struct PublishedTensors {
  numerics::Format format = numerics::Format::f16;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t dim = 1;
  double scale = 1;
  bool causal = false;        // the last query sees all keys
  bool heads_inside = false;  // memory order (batch, length, heads, dim), else (batch, heads, length, dim)
  double softcap = 0;         // 0: none
  std::int64_t window_left = -1, window_right = -1;  // visible keys before and after a query's own; -1: all
  std::vector<double> slopes = {};                   // of ALiBi, (heads), f32 values; empty: none
};

/// The keys that a query sees: [from, end).
struct SeenKeys {
  std::int64_t from, end;
};
SeenKeys seen_keys(const PublishedTensors& tensors, std::int64_t query);

/// A tensor of `length` positions, in the memory order of the tensors, with values rounded to the format.
InputTensor attention_input(const PublishedTensors& tensors, std::int64_t length, const std::function<double()>& value);

/// Makes the call a version 2 call if the tensors have attributes: roles of q, k and v, the attributes, and slopes.
void add_attributes(const PublishedTensors& tensors, TensorCall& call);

/// Reduces published tensors: at most two batches (one if the keys have more than 2^20 elements) and two heads, and at
/// least two queries, as many as keep batch * heads * queries * keys * dim within 2^20.
PublishedTensors taken(PublishedTensors published);

/// The call, and the expected values in double arithmetic rounded to the format: exact compared to a published
/// tolerance.
///
/// value    an element of q, k and v, before rounding to the format
CriterionCase attention_case(const PublishedTensors& tensors, const std::function<double()>& value,
                             std::vector<Comparison> comparisons);

/// The largest error of attention if scaled keys, scores, each step of them, coefficients and outputs are rounded to
/// the format, as PyTorch computes 16-bit tensors without a fused kernel.
double error_of_unfused(const PublishedTensors& tensors, const CriterionCase& criterion_case);

/// Attention's gradient as a published test asks for it: the call, and dq, dk and dv in double arithmetic rounded to
/// the format. The saved outputs are exact and rounded.
struct GradientCase {
  CriterionCase criterion_case;
  /// The largest errors of dq, dk and dv if scaled keys, scores, coefficients, their gradients, the products of both
  /// and each result are rounded to the format, as PyTorch computes 16-bit tensors without a fused kernel.
  std::vector<double> errors_of_unfused;
};

/// Without softcap and slopes. Each query must see a key.
///
/// value, upstream   elements of q, k and v, and of the gradient by the output, before rounding to the format
GradientCase attention_gradient_case(const PublishedTensors& tensors, const std::function<double()>& value,
                                     const std::function<double()>& upstream);

/// Adds the rules for dq, dk and dv, one each.
void ask_gradients(CriterionCase& criterion_case, const std::vector<Comparison>& of_each);

/// Attention of several sequences in one call, each given as tensors of batch size 1; format, heads, dim, scale and
/// causality come from the first one.
///
/// value    an element of q, k and v
/// factor   the allowed multiple of PyTorch's largest error; 0: use `comparisons` as they are
CriterionCase packed_case(const std::vector<PublishedTensors>& sequences, const std::function<double()>& value,
                          std::vector<Comparison> comparisons, double factor);

/// The same with keys and values in pages, in any order and twice as many as needed; unused slots hold values, too. All
/// sequences must have the same number of queries.
CriterionCase paged_case(const std::vector<PublishedTensors>& sequences, std::int64_t page_size, Draw& draw,
                         const std::function<double()>& value, std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests
