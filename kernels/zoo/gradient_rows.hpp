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

/// Which row's upstream gradient a kernel reads.
enum class UpstreamRow { own, first };

/// Calls compute(GradientRow<Real>&) for every row of a call of this op, 1 for any other call.
template <class Compute>
int each_gradient_row(const softcheck_call* call, std::uint32_t op, Compute compute,
                      UpstreamRow read = UpstreamRow::own) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr || whole->op != op || call->n_inputs != 2 || call->n_outputs != 1 ||
      whole->input_roles[0] != SOFTCHECK_ROLE_SAVED || whole->input_roles[1] != SOFTCHECK_ROLE_OUT_GRADIENT ||
      call->inputs[0]->ndim != 2 || !is_float(*call->inputs[0])) {
    return 1;
  }
  const View saved(*call->inputs[0]), upstream(*call->inputs[1]), out(*call->outputs[0]);
  const auto run = [&](auto real) {
    using Real = decltype(real);
    for (std::int64_t r = 0; r < saved.rows; ++r) {
      GradientRow<Real> row;
      for (std::int64_t i = 0; i < saved.columns; ++i) {
        row.saved.push_back(saved.get<Real>(r, i));
        row.upstream.push_back(upstream.get<Real>(read == UpstreamRow::own ? r : 0, i));
      }
      row.out.resize(row.saved.size());
      compute(row);
      for (std::int64_t i = 0; i < saved.columns; ++i) out.put(r, i, row.out[static_cast<std::size_t>(i)]);
    }
    return 0;
  };
  return is_f64(saved.type) ? run(double{}) : run(float{});
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

/// A number as it is stored in bfloat16, rounded to nearest even.
inline float stored_in_bf16(float x) {
  DLDataType type{kDLBfloat, 16, 1};
  char bytes[2];
  store<float>(type, x, bytes);
  return load<float>(type, bytes);
}
inline double stored_in_bf16(double x) { return x; }

}  // namespace softcheck::kernels::zoo
