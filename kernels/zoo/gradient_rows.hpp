#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/zoo/rows.hpp"

// Glue of the kernels for gradients of rows: saved output and upstream gradient, in every dtype and with any strides,
// so that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct GradientRow {
  std::vector<Real> saved, upstream;
  std::vector<Real> out;  // as long
};

/// Calls compute(GradientRow<Real>&) for every row of a call of this op, 1 for any other call.
template <class Compute>
int each_gradient_row(const softcheck_call* call, std::uint32_t op, Compute compute) {
  const softcheck_call_2* whole = call_of(call, op, 2, 1);
  if (whole == nullptr || whole->input_roles[0] != SOFTCHECK_ROLE_SAVED ||
      whole->input_roles[1] != SOFTCHECK_ROLE_OUT_GRADIENT) {
    return 1;
  }
  const View saved(*call->inputs[0]), upstream(*call->inputs[1]), out(*call->outputs[0]);
  return in_format_of(saved.type, [&]<class Real>(Real) {
    for (std::int64_t r = 0; r < saved.rows; ++r) {
      GradientRow<Real> row{read_row<Real>(saved, r), read_row<Real>(upstream, r), {}};
      row.out.resize(row.saved.size());
      compute(row);
      write_row(out, r, row.out);
    }
  });
}

/// sum y g, one product after the other.
template <class Real>
Real mean_of(const GradientRow<Real>& row) {
  Real sum = 0;
  for (std::size_t i = 0; i < row.saved.size(); ++i) sum += row.saved[i] * row.upstream[i];
  return sum;
}

/// sum g, one after the other.
template <class Real>
Real total_of(const GradientRow<Real>& row) {
  Real sum = 0;
  for (const Real g : row.upstream) sum += g;
  return sum;
}

template <class Compute>
int each_softmax_gradient(const softcheck_call* call, Compute compute) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, compute);
}
template <class Compute>
int each_log_softmax_gradient(const softcheck_call* call, Compute compute) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, compute);
}

/// softmax: item(row, i, sum y g). log-softmax: item(row, i, sum g).
template <class Item>
int softmax_gradient_by_items(const softcheck_call* call, Item item) {
  return each_softmax_gradient(call, [&](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = item(row, i, mean);
  });
}
template <class Item>
int log_softmax_gradient_by_items(const softcheck_call* call, Item item) {
  return each_log_softmax_gradient(call, [&](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = item(row, i, total);
  });
}

/// y (g - mean) and g - e^y total.
template <class Real>
void put_softmax_gradient(GradientRow<Real>& row, Real mean) {
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
}
template <class Real>
void put_log_softmax_gradient(GradientRow<Real>& row, Real total) {
  for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
}

/// The same by mean(row) and total(row).
template <class Mean>
int softmax_gradient_by_mean(const softcheck_call* call, Mean mean) {
  return each_softmax_gradient(call, [&](auto& row) { put_softmax_gradient(row, mean(row)); });
}
template <class Total>
int log_softmax_gradient_by_total(const softcheck_call* call, Total total) {
  return each_log_softmax_gradient(call, [&](auto& row) { put_log_softmax_gradient(row, total(row)); });
}

/// A number as it is stored in bfloat16, rounded to nearest even.
inline float stored_in_bf16(float x) { return rounded_to_bf16(x); }
inline double stored_in_bf16(double x) { return x; }

}  // namespace softcheck::kernels::zoo

#define SOFTCHECK_BODY_each_softmax_gradient(name) SOFTCHECK_BODY(void, name, GradientRow<Real>& row)
#define SOFTCHECK_BODY_each_log_softmax_gradient(name) SOFTCHECK_BODY(void, name, GradientRow<Real>& row)
#define SOFTCHECK_BODY_softmax_gradient_by_items(name) \
  SOFTCHECK_BODY(Real, name, GradientRow<Real>& row, std::size_t i, [[maybe_unused]] Real mean)
#define SOFTCHECK_BODY_log_softmax_gradient_by_items(name) \
  SOFTCHECK_BODY(Real, name, GradientRow<Real>& row, std::size_t i, [[maybe_unused]] Real total)
#define SOFTCHECK_BODY_softmax_gradient_by_mean(name) SOFTCHECK_BODY(Real, name, const GradientRow<Real>& row)
#define SOFTCHECK_BODY_log_softmax_gradient_by_total(name) SOFTCHECK_BODY(Real, name, const GradientRow<Real>& row)
