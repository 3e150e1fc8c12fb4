#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels that merge partial states: log-sum-exps and outputs in every dtype and with any strides, so that
// each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// The parts of one row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct MergeRow {
  std::vector<Real> lse;                   // (parts)
  std::vector<std::vector<Real>> outputs;  // (parts, dim)
  bool base_2 = false;
  std::vector<Real> out;  // (dim), 0 at first
  Real merged = -infinity;

  bool is_empty(std::size_t k) const { return lse[k] == -infinity; }
  std::size_t parts() const { return lse.size(); }
  Real maximum() const { return largest_of(lse); }
  Real power(Real x) const { return base_2 ? std::exp2(x) : std::exp(x); }
  Real logarithm(Real s) const { return base_2 ? std::log2(s) : std::log(s); }
  void add(std::size_t k, Real weight) {
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += weight * outputs[k][c];
  }
  void divide(Real by) {
    for (Real& value : out) value /= by;
  }
  /// The correct kernel.
  void merge() {
    const Real m = maximum();
    if (m == -infinity) return;
    Real s = 0;
    for (std::size_t k = 0; k < parts(); ++k) {
      if (is_empty(k)) continue;
      const Real weight = power(lse[k] - m);
      s += weight;
      add(k, weight);
    }
    divide(s);
    merged = m + logarithm(s);
  }
};

/// Vector (i, j) of a tensor of three dimensions.
template <class Real>
void read_vector(const DLTensor& tensor, std::int64_t i, std::int64_t j, std::vector<Real>& to) {
  const std::int64_t n = tensor.shape[1], width = tensor.shape[2];
  const std::int64_t* strides = tensor.strides;
  const std::int64_t first = strides != nullptr ? i * strides[0] + j * strides[1] : (i * n + j) * width;
  const std::int64_t bytes = tensor.dtype.bits / 8, step = (strides != nullptr ? strides[2] : 1) * bytes;
  const char* element = static_cast<const char*>(tensor.data) + tensor.byte_offset + first * bytes;
  to.resize(static_cast<std::size_t>(width));
  for (Real& number : to) {
    number = load<Real>(tensor.dtype, element);
    element += step;
  }
}

/// Calls compute(MergeRow<Real>&) for every row of a call, 1 for a call of another op.
template <class Compute>
int each_merge_row(const softcheck_call* call, Compute compute) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_MERGE_STATES || call->n_inputs != 2 || call->n_outputs != 2 ||
      whole->input_roles[0] != SOFTCHECK_ROLE_OUT || whole->input_roles[1] != SOFTCHECK_ROLE_LSE ||
      call->inputs[0]->ndim != 3 || call->inputs[1]->ndim != 2 || !is_float(*call->inputs[0])) {
    return 1;
  }
  const DLTensor& outputs = *call->inputs[0];
  const View lse(*call->inputs[1]), out(*call->outputs[0]), merged(*call->outputs[1]);
  const std::int64_t parts = outputs.shape[0], rows = outputs.shape[1], width = outputs.shape[2];
  return in_format_of(lse.type, [&]<class Real>(Real) {
    MergeRow<Real> row;  // of all rows in turn: a call has up to 65,536
    for (std::int64_t r = 0; r < rows; ++r) {
      row.base_2 = whole->attributes->lse_base2 != 0;
      row.merged = -infinity;
      row.lse.clear();
      row.outputs.resize(static_cast<std::size_t>(parts));
      for (std::int64_t k = 0; k < parts; ++k) {
        row.lse.push_back(lse.get<Real>(k, r));
        read_vector(outputs, k, r, row.outputs[static_cast<std::size_t>(k)]);
      }
      row.out.assign(static_cast<std::size_t>(width), 0);
      compute(row);
      write_row(out, r, row.out);
      merged.put(r, 0, row.merged);
    }
  });
}

/// The merge of each row that change(row) has changed, and its results changed by it.
template <class Change>
int changed_merges(const softcheck_call* call, Change change) {
  return each_merge_row(call, [&](auto& row) {
    change(row);
    row.merge();
  });
}
template <class Change>
int changed_merge_results(const softcheck_call* call, Change change) {
  return each_merge_row(call, [&](auto& row) {
    row.merge();
    change(row);
  });
}

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_merge_row(name) SOFTCHECK_BODY(void, name, MergeRow<Real>& row)
#define SOFTCHECK_BODY_changed_merges(name) SOFTCHECK_BODY_each_merge_row(name)
#define SOFTCHECK_BODY_changed_merge_results(name) SOFTCHECK_BODY_each_merge_row(name)
