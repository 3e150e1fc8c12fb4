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
  bool heads_inside = false;  // in memory (batch, length, heads, dim), else (batch, heads, length, dim)
  double softcap = 0;         // 0: none
  std::int64_t window_left = -1, window_right = -1;  // keys beside a query's own that it sees; -1: all
  std::vector<double> slopes = {};                   // ALiBi's (heads), f32 values; empty: none
};

/// The keys that a query sees: from one to another.
struct SeenKeys {
  std::int64_t from, end;
};
SeenKeys seen_keys(const PublishedTensors& tensors, std::int64_t query);

/// A tensor of so many positions, in memory as the tensors say, of values that are rounded to the format.
InputTensor attention_input(const PublishedTensors& tensors, std::int64_t length, const std::function<double()>& value);

/// Makes the call one of version 2 where the tensors have attributes: roles of q, k and v, the attributes, and slopes.
void add_attributes(const PublishedTensors& tensors, TensorCall& call);

/// What is taken of published tensors: at most two batches (one where the keys would have more than 2^20 elements) and
/// two heads, and of the queries as many as keep batch * heads * queries * keys * dim within 2^20, but two at least.
PublishedTensors taken(PublishedTensors published);

/// The call and the values in double arithmetic, rounded to the format: beside a published tolerance they are exact.
///
/// value    an element of q, k and v, to be rounded to the format
CriterionCase attention_case(const PublishedTensors& tensors, const std::function<double()>& value,
                             std::vector<Comparison> comparisons);

/// The largest error of attention whose scaled keys, scores, each step of them, coefficients and outputs are each
/// rounded to the format: what PyTorch computes of 16-bit tensors without a fused kernel.
double error_of_unfused(const PublishedTensors& tensors, const CriterionCase& criterion_case);

/// Attention's gradient as a published test asks for it: the call, and dq, dk and dv in double arithmetic, rounded to
/// the format. The saved outputs are the exact ones, rounded.
struct GradientCase {
  CriterionCase criterion_case;
  /// The largest errors of dq, dk and dv where scaled keys, scores, coefficients, their gradients, the products of both
  /// and each result are rounded to the format: what PyTorch computes of 16-bit tensors without a fused kernel.
  std::vector<double> errors_of_unfused;
};

/// Without softcap and slopes. Each query sees a key.
///
/// value, upstream   elements of q, k and v, and of the gradient by the output, to be rounded to the format
GradientCase attention_gradient_case(const PublishedTensors& tensors, const std::function<double()>& value,
                                     const std::function<double()>& upstream);

/// Asks dq, dk and dv for one rule each.
void ask_gradients(CriterionCase& criterion_case, const std::vector<Comparison>& of_each);

/// Attention of several sequences in one call, each as tensors of a batch of one; format, heads, dim, scale and
/// causality are those of the first.
///
/// value   an element of q, k and v
/// what    the factor of PyTorch's largest error that is allowed; 0: `comparisons` as they are
CriterionCase packed_case(const std::vector<PublishedTensors>& sequences, const std::function<double()>& value,
                          std::vector<Comparison> comparisons, double factor);

/// The same with keys and values in pages, which lie in any order and are twice as many as needed; slots that no key
/// has hold values, too. The sequences have as many queries each.
CriterionCase paged_case(const std::vector<PublishedTensors>& sequences, std::int64_t page_size, Draw& draw,
                         const std::function<double()>& value, std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests
