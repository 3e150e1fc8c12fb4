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

/// softmax of scores, as exact as beside a published tolerance it has to be.
std::vector<double> exact_coefficients(const std::vector<double>& scores);

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

}  // namespace softcheck::proptests
