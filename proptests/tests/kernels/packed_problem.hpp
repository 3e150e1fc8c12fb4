#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {

using Lengths = std::vector<std::int64_t>;

inline Lengths cumulative(const Lengths& lengths) {
  Lengths ends{0};
  for (const std::int64_t n : lengths) ends.push_back(ends.back() + n);
  return ends;
}

struct PackedShape {
  Lengths of_queries, of_keys;
  std::int64_t heads, key_heads, dim, value_dim;
  std::int64_t behind = 3, keys_behind = 3;  // places behind the last sequence
};

/// A tensor's numbers and its form as a packed one, (all, heads, columns).
template <class Bits>
struct PackedTensor {
  Lengths shape;
  std::vector<Bits> elements;

  DLTensor view(DLDataType type) {
    return {elements.data(), {kDLCPU, 0}, static_cast<int>(shape.size()), type, shape.data(), nullptr, 0};
  }
};

/// Places [begin, end) of a packed tensor as the one of a call by batch: (1, heads, end - begin, columns), or (1,
/// heads, end - begin) of lse and entropy.
struct SequenceTensor {
  Lengths shape, strides;
  DLTensor view;

  template <class Bits>
  SequenceTensor(PackedTensor<Bits>& all, DLDataType type, std::int64_t begin, std::int64_t end) {
    const std::int64_t last = all.shape.back();
    const bool rows = all.shape.size() == 2;
    shape = rows ? Lengths{1, all.shape[0], end - begin} : Lengths{1, all.shape[1], end - begin, last};
    strides = rows ? Lengths{1, last, 1} : Lengths{1, last, all.shape[1] * last, 1};
    view = {all.elements.data() + begin * strides[2],
            {kDLCPU, 0},
            static_cast<int>(shape.size()),
            type,
            shape.data(),
            strides.data(),
            0};
  }
  SequenceTensor(const SequenceTensor&) = delete;
  SequenceTensor& operator=(const SequenceTensor&) = delete;
};

/// Packed sequences, results that nobody has written yet, and both ways to have them computed. Bits: what holds a
/// number of the tensors' type; Wide: of lse and entropy, f32 or f64.
template <class Bits, class Wide>
class PackedProblem {
 public:
  /// rounded(x): a number of the type.
  template <class Rounded>
  PackedProblem(const PackedShape& shape, DLDataType type, Rounded rounded)
      : type_(type), query_ends(cumulative(shape.of_queries)), key_ends(cumulative(shape.of_keys)) {
    const std::int64_t queries = query_ends.back() + shape.behind, keys = key_ends.back() + shape.keys_behind;
    std::uint32_t seed = 0;
    const auto tensor = [&](std::int64_t all, std::int64_t heads, std::int64_t columns) {
      PackedTensor<Bits> made{{all, heads, columns}, {}};
      for (const double x : uneven_row<double>(static_cast<std::size_t>(all * heads * columns), ++seed)) {
        made.elements.push_back(rounded(x / 16 + 1));  // [-1, 1)
      }
      return made;
    };
    q = tensor(queries, shape.heads, shape.dim);
    k = tensor(keys, shape.key_heads, shape.dim);
    v = tensor(keys, shape.key_heads, shape.value_dim);
    d_out = tensor(queries, shape.heads, shape.value_dim);
    const auto unwritten = [&](const PackedTensor<Bits>& like) {
      return PackedTensor<Bits>{like.shape, std::vector<Bits>(like.elements.size(), rounded(-7))};
    };
    out = unwritten(d_out);
    dq = unwritten(q);
    dk = unwritten(k);
    dv = unwritten(v);
    lse = {{shape.heads, queries}, std::vector<Wide>(static_cast<std::size_t>(queries * shape.heads), -7)};
    entropy = lse;
  }

  /// One call with the lengths given, numbers of step: whether it was taken. Of the forward or of the backward kernel.
  template <class Index>
  bool run(softcheck_kernel kernel, bool backward, const std::vector<Index>& ends_q, const std::vector<Index>& ends_k,
           bool causal, std::int64_t step = 1, DLDataType index = {kDLInt, 8 * sizeof(Index), 1}) {
    const auto spread = [&](const std::vector<Index>& ends) {
      std::vector<Index> all(ends.size() * static_cast<std::size_t>(step), Index(-1));
      for (std::size_t i = 0; i < ends.size(); ++i) all[i * static_cast<std::size_t>(step)] = ends[i];
      return all;
    };
    std::vector<Index> of_queries = spread(ends_q), of_keys = spread(ends_k);
    std::int64_t count_q = static_cast<std::int64_t>(ends_q.size()), count_k = static_cast<std::int64_t>(ends_k.size());
    std::int64_t stride = step;
    DLTensor eq{of_queries.data(), {kDLCPU, 0}, 1, index, &count_q, &stride, 0};
    DLTensor ek{of_keys.data(), {kDLCPU, 0}, 1, index, &count_k, &stride, 0};
    DLTensor tq = q.view(type_), tk = k.view(type_), tv = v.view(type_), incoming = d_out.view(type_);
    DLTensor to = out.view(type_), tl = lse.view(dtype_of<Wide>()), te = entropy.view(dtype_of<Wide>());
    DLTensor gq = dq.view(type_), gk = dk.view(type_), gv = dv.view(type_);
    if (backward) return taken(kernel, {&tq, &tk, &tv, &incoming, &eq, &ek}, {&gq, &gk, &gv}, causal);
    return taken(kernel, {&tq, &tk, &tv, &eq, &ek}, {&to, &tl, &te}, causal);
  }
  /// With its own lengths, of int64.
  bool run(softcheck_kernel kernel, bool backward, bool causal) {
    return run(kernel, backward, query_ends, key_ends, causal);
  }

  /// A call by batch for each sequence: whether all were taken.
  bool run_each(softcheck_kernel kernel, bool backward, bool causal) {
    bool all = true;
    for (std::size_t i = 0; i + 1 < query_ends.size(); ++i) {
      const auto of_queries = [&](auto& tensor, DLDataType type) {
        return SequenceTensor(tensor, type, query_ends[i], query_ends[i + 1]);
      };
      const auto of_keys = [&](auto& tensor) { return SequenceTensor(tensor, type_, key_ends[i], key_ends[i + 1]); };
      const SequenceTensor tq = of_queries(q, type_), tk = of_keys(k), tv = of_keys(v);
      SequenceTensor incoming = of_queries(d_out, type_), to = of_queries(out, type_);
      SequenceTensor tl = of_queries(lse, dtype_of<Wide>()), te = of_queries(entropy, dtype_of<Wide>());
      SequenceTensor gq = of_queries(dq, type_), gk = of_keys(dk), gv = of_keys(dv);
      all = all && (backward ? taken(kernel, {&tq.view, &tk.view, &tv.view, &incoming.view},
                                     {&gq.view, &gk.view, &gv.view}, causal)
                             : taken(kernel, {&tq.view, &tk.view, &tv.view}, {&to.view, &tl.view, &te.view}, causal));
    }
    return all;
  }

  testing::AssertionResult same_results(const PackedProblem& other) const {
    for (const auto tensor : {&PackedProblem::out, &PackedProblem::dq, &PackedProblem::dk, &PackedProblem::dv}) {
      const testing::AssertionResult same = same_bits((this->*tensor).elements, (other.*tensor).elements);
      if (!same) return same;
    }
    const testing::AssertionResult same = same_bits(lse.elements, other.lse.elements);
    return same ? same_bits(entropy.elements, other.entropy.elements) : same;
  }

 private:
  static bool taken(softcheck_kernel kernel, const std::vector<const DLTensor*>& inputs,
                    const std::vector<DLTensor*>& outputs, bool causal) {
    return takes_call(kernel, inputs, outputs, 2, causal);
  }

  DLDataType type_;

 public:
  Lengths query_ends, key_ends;
  PackedTensor<Bits> q, k, v, d_out, out, dq, dk, dv;
  PackedTensor<Wide> lse, entropy;
};

}  // namespace softcheck::kernel_tests
