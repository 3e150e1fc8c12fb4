#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
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

inline std::vector<std::int32_t> narrowed(const Lengths& offsets) { return {offsets.begin(), offsets.end()}; }

struct PackedShape {
  Lengths of_queries, of_keys;
  std::int64_t heads, key_heads, dim, value_dim;
  std::int64_t behind = 3, keys_behind = 3;  // places behind the last sequence
  std::int64_t room = 5;                     // between a place and the next one, as where q, k and v are interleaved
};

/// What a kernel makes of the tensors: out, lse, entropy and the largest score; gradients; or the scores' statistics.
enum class Pass { forward, backward, statistics };

/// By its name, with or without _varlen.
inline Pass pass_of(const std::string& op) {
  return op.find("backward") != std::string::npos     ? Pass::backward
         : op.find("statistics") != std::string::npos ? Pass::statistics
                                                      : Pass::forward;
}

/// A tensor's numbers and its form as a packed one: (all, heads, columns), or (heads, all) of lse and the like.
template <class Bits>
struct PackedTensor {
  Lengths shape, strides;
  std::vector<Bits> elements;

  DLTensor view(DLDataType type) {
    return {elements.data(), {kDLCPU, 0}, static_cast<int>(shape.size()), type, shape.data(), strides.data(), 0};
  }
};

/// Places [begin, end) of a packed tensor as the one of a call by batch: (1, heads, end - begin, columns), or (1,
/// heads, end - begin) of lse and the like.
struct SequenceTensor {
  Lengths shape, strides;
  DLTensor view;

  template <class Bits>
  SequenceTensor(PackedTensor<Bits>& all, DLDataType type, std::int64_t begin, std::int64_t end) {
    const bool rows = all.shape.size() == 2;
    shape = rows ? Lengths{1, all.shape[0], end - begin} : Lengths{1, all.shape[1], end - begin, all.shape[2]};
    strides = rows ? Lengths{1, all.strides[0], 1} : Lengths{1, all.strides[1], all.strides[0], 1};
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
/// number of the tensors' type; Wide: of lse and the like, f32 or f64.
template <class Bits, class Wide>
class PackedProblem {
 public:
  /// rounded(x): a number of the type.
  template <class Rounded>
  PackedProblem(const PackedShape& shape, DLDataType type, Rounded rounded)
      : query_offsets(cumulative(shape.of_queries)), key_offsets(cumulative(shape.of_keys)), type_(type) {
    const std::int64_t queries = query_offsets.back() + shape.behind, keys = key_offsets.back() + shape.keys_behind;
    std::uint32_t seed = 0;
    const auto tensor = [&](std::int64_t all, std::int64_t heads, std::int64_t columns) {
      const std::int64_t step = heads * columns + shape.room;
      PackedTensor<Bits> made{{all, heads, columns}, {step, columns, 1}, {}};
      for (const double x : uneven_row<double>(static_cast<std::size_t>(all * step), ++seed)) {
        made.elements.push_back(rounded(x / 16 + 1));  // [-1, 1)
      }
      return made;
    };
    q = tensor(queries, shape.heads, shape.dim);
    k = tensor(keys, shape.key_heads, shape.dim);
    v = tensor(keys, shape.key_heads, shape.value_dim);
    d_out = tensor(queries, shape.heads, shape.value_dim);
    const auto unwritten = [&](const PackedTensor<Bits>& like) {
      return PackedTensor<Bits>{like.shape, like.strides, std::vector<Bits>(like.elements.size(), rounded(-7))};
    };
    out = unwritten(d_out);
    dq = unwritten(q);
    dk = unwritten(k);
    dv = unwritten(v);
    lse = {
        {shape.heads, queries}, {queries, 1}, std::vector<Wide>(static_cast<std::size_t>(queries * shape.heads), -7)};
    entropy = maximum = sums = deviations = squares = lse;
  }

  /// One call with the lengths given, numbers of step behind one that is none of them: whether it was taken. After
  /// change(inputs).
  template <class Index, class Change>
  bool run_changed(softcheck_kernel kernel, Pass pass, const std::vector<Index>& offsets_q,
                   const std::vector<Index>& offsets_k, bool causal, std::int64_t step, DLDataType index,
                   Change change) {
    const auto spread = [&](const std::vector<Index>& offsets) {
      std::vector<Index> all(1 + offsets.size() * static_cast<std::size_t>(step), Index(-1));
      for (std::size_t i = 0; i < offsets.size(); ++i) all[1 + i * static_cast<std::size_t>(step)] = offsets[i];
      return all;
    };
    std::vector<Index> of_queries = spread(offsets_q), of_keys = spread(offsets_k);
    std::int64_t counts[] = {static_cast<std::int64_t>(offsets_q.size()), static_cast<std::int64_t>(offsets_k.size())};
    std::int64_t stride = step;
    std::vector<DLTensor> in;
    for (const auto& [tensor, unused] : read_by(pass)) in.push_back(tensor->view(type_));
    in.push_back({of_queries.data(), {kDLCPU, 0}, 1, index, &counts[0], &stride, sizeof(Index)});
    in.push_back({of_keys.data(), {kDLCPU, 0}, 1, index, &counts[1], &stride, sizeof(Index)});
    change(in);
    std::vector<const DLTensor*> inputs;
    for (const DLTensor& tensor : in) inputs.push_back(&tensor);
    std::vector<DLTensor> to;
    for (const auto& [tensor, unused] : written_by(pass)) to.push_back(tensor->view(type_));
    for (PackedTensor<Wide>* rows : rows_of(pass)) to.push_back(rows->view(dtype_of<Wide>()));
    std::vector<DLTensor*> outputs;
    for (DLTensor& tensor : to) outputs.push_back(&tensor);
    return taken(kernel, inputs, outputs, causal);
  }
  template <class Index>
  bool run(softcheck_kernel kernel, Pass pass, const std::vector<Index>& offsets_q, const std::vector<Index>& offsets_k,
           bool causal, std::int64_t step = 1, DLDataType index = {kDLInt, 8 * sizeof(Index), 1}) {
    return run_changed(kernel, pass, offsets_q, offsets_k, causal, step, index, [](std::vector<DLTensor>&) {});
  }
  /// With its own lengths, of int64.
  bool run(softcheck_kernel kernel, Pass pass, bool causal) {
    return run(kernel, pass, query_offsets, key_offsets, causal);
  }

  /// A call by batch for each sequence: whether all were taken.
  bool run_each(softcheck_kernel kernel, Pass pass, bool causal) {
    bool all = true;
    for (std::size_t i = 0; i + 1 < query_offsets.size(); ++i) {
      std::deque<SequenceTensor> tensors;
      const auto cut = [&](auto& tensor, DLDataType type, const Lengths& offsets) {
        return &tensors.emplace_back(tensor, type, offsets[i], offsets[i + 1]).view;
      };
      std::vector<const DLTensor*> inputs;
      std::vector<DLTensor*> outputs;
      for (const auto& [tensor, offsets] : read_by(pass)) inputs.push_back(cut(*tensor, type_, *offsets));
      for (const auto& [tensor, offsets] : written_by(pass)) outputs.push_back(cut(*tensor, type_, *offsets));
      for (PackedTensor<Wide>* rows : rows_of(pass)) outputs.push_back(cut(*rows, dtype_of<Wide>(), query_offsets));
      all = all && taken(kernel, inputs, outputs, causal);
    }
    return all;
  }

  testing::AssertionResult same_results(const PackedProblem& other) const {
    testing::AssertionResult same = testing::AssertionSuccess();
    const auto compare = [&](auto... tensors) {
      ((same = same ? same_bits((this->*tensors).elements, (other.*tensors).elements) : same), ...);
    };
    compare(&PackedProblem::out, &PackedProblem::dq, &PackedProblem::dk, &PackedProblem::dv, &PackedProblem::lse,
            &PackedProblem::entropy, &PackedProblem::maximum, &PackedProblem::sums, &PackedProblem::deviations,
            &PackedProblem::squares);
    return same;
  }

  Lengths query_offsets, key_offsets;
  PackedTensor<Bits> q, k, v, d_out, out, dq, dk, dv;
  PackedTensor<Wide> lse, entropy, maximum, sums, deviations, squares;
  std::size_t results = 4;  // that are asked for at most, in the call's order

 private:
  /// Tensors with the offsets of their sequences.
  using Tensors = std::vector<std::pair<PackedTensor<Bits>*, const Lengths*>>;

  Tensors read_by(Pass pass) {
    Tensors all = {{&q, &query_offsets}, {&k, &key_offsets}};
    if (pass != Pass::statistics) all.emplace_back(&v, &key_offsets);
    if (pass == Pass::backward) all.emplace_back(&d_out, &query_offsets);
    return all;
  }
  Tensors written_by(Pass pass) {
    if (pass == Pass::forward) return {{&out, &query_offsets}};
    if (pass == Pass::statistics) return {};
    return {{&dq, &query_offsets}, {&dk, &key_offsets}, {&dv, &key_offsets}};
  }
  /// Results of one number a query.
  std::vector<PackedTensor<Wide>*> rows_of(Pass pass) {
    if (pass == Pass::forward) return {&lse, &entropy, &maximum};
    if (pass == Pass::statistics) return {&maximum, &sums, &deviations, &squares};
    return {};
  }
  bool taken(softcheck_kernel kernel, const std::vector<const DLTensor*>& inputs, std::vector<DLTensor*> outputs,
             bool causal) const {
    outputs.resize(std::min(results, outputs.size()));
    return takes_call(kernel, inputs, outputs, 2, causal);
  }

  DLDataType type_;
};

}  // namespace softcheck::kernel_tests
