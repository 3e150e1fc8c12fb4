#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/zoo/elements.hpp"

// Glue of the mutants and of the correct-but-different kernels: the softmax family on the CPU in every dtype, any
// strides, masks and theta, so that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

/// A row in the format that it is computed in: double for f64, float for the rest.
template <class Real>
struct RowOf {
  std::vector<Real> logits;  // masked items are -inf
  double theta = 1;
  std::vector<Real> out;  // one number, or one for each logit, as the op has
};
using Row = RowOf<float>;

/// A tensor of one or two dimensions; missing ones have extent 1. A mutant of layouts changes a field.
struct View {
  char* data = nullptr;
  DLDataType type{};
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t row_stride = 1;
  std::int64_t column_stride = 1;

  View() = default;
  explicit View(const DLTensor& t) : type(t.dtype), rows(t.shape[0]) {
    if (t.data != nullptr) data = static_cast<char*>(t.data) + t.byte_offset;
    if (t.ndim == 2) columns = t.shape[1];
    row_stride = t.strides != nullptr ? t.strides[0] : columns;
    if (t.strides != nullptr && t.ndim == 2) column_stride = t.strides[1];
  }

  char* at(std::int64_t row, std::int64_t column) const {
    return data + (row * row_stride + column * column_stride) * (type.bits / 8);
  }
  template <class Real>
  Real get(std::int64_t row, std::int64_t column) const {
    return load<Real>(type, at(row, column));
  }
  template <class Real>
  void put(std::int64_t row, std::int64_t column, Real value) const {
    store<Real>(type, value, at(row, column));
  }
};

template <class Real>
std::vector<Real> read_row(const View& from, std::int64_t row) {
  std::vector<Real> values;
  values.reserve(static_cast<std::size_t>(from.columns));
  for (std::int64_t i = 0; i < from.columns; ++i) values.push_back(from.get<Real>(row, i));
  return values;
}
template <class Real>
void write_row(const View& to, std::int64_t row, const std::vector<Real>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) to.put(row, static_cast<std::int64_t>(i), values[i]);
}

/// The largest; NaN if one is NaN, -inf for none.
template <class Real>
Real largest_of(const std::vector<Real>& values) {
  Real m = -infinity;
  for (const Real x : values) m = std::isnan(x) || x > m ? x : m;
  return m;
}

/// A call of version 2 of this op, its first input and output of floats and the input of two dimensions; else null.
inline const softcheck_call_2* call_of(const softcheck_call* call, std::uint32_t op, std::uint32_t inputs,
                                       std::uint32_t outputs) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  const bool taken = whole != nullptr && whole->op == op && call->n_inputs == inputs && call->n_outputs == outputs &&
                     call->inputs[0]->ndim == 2 && is_float(*call->inputs[0]) && is_float(*call->outputs[0]);
  return taken ? whole : nullptr;
}

/// A call, unpacked.
struct Matrices {
  View logits;
  std::optional<View> mask;
  View out;
  bool out_is_row_scalar = false;
  double theta = 1;
};

/// Nothing if the call must be refused.
inline std::optional<Matrices> matrices_of(const softcheck_call& call) {
  if (call.abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call.n_inputs < 1 || call.n_inputs > 2 ||
      call.n_outputs != 1 || !is_float(*call.inputs[0]) || !is_float(*call.outputs[0]) || call.inputs[0]->ndim != 2) {
    return std::nullopt;
  }
  Matrices matrices;
  matrices.logits = View(*call.inputs[0]);
  if (call.n_inputs == 2) matrices.mask = View(*call.inputs[1]);
  matrices.out = View(*call.outputs[0]);
  matrices.out_is_row_scalar = call.outputs[0]->ndim == 1;
  matrices.theta = call.theta;
  return matrices;
}

template <class Real>
RowOf<Real> gather(const Matrices& from, std::int64_t row) {
  RowOf<Real> result;
  result.theta = from.theta;
  result.out.resize(from.out_is_row_scalar ? 1 : static_cast<std::size_t>(from.logits.columns));
  result.logits.reserve(static_cast<std::size_t>(from.logits.columns));
  for (std::int64_t i = 0; i < from.logits.columns; ++i) {
    const bool visible = !from.mask || *from.mask->at(row, i) != 0;
    result.logits.push_back(visible ? from.logits.get<Real>(row, i) : static_cast<Real>(-infinity));
  }
  return result;
}

template <class Real>
void scatter(const Matrices& to, std::int64_t row, const RowOf<Real>& from) {
  write_row(to.out, row, from.out);
}

/// Calls compute(RowOf<Real>&) for every row: it reads logits and theta and fills out. If compute takes only Row&, f64
/// is refused.
template <class Compute>
int each_row(const Matrices& matrices, Compute compute) {
  const auto run = [&](auto real) {
    for (std::int64_t r = 0; r < matrices.logits.rows; ++r) {
      auto row = gather<decltype(real)>(matrices, r);
      compute(row);
      scatter(matrices, r, row);
    }
    return 0;
  };
  if (!is_f64(matrices.logits.type)) return run(float{});
  if constexpr (std::is_invocable_v<Compute&, RowOf<double>&>) {
    return run(double{});
  } else {
    return 1;
  }
}

template <class Compute>
int each_row(const softcheck_call* call, Compute compute) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  return matrices ? each_row(*matrices, compute) : 1;
}

/// The same for a body that computes in float: f64 is refused.
template <class Compute>
int each_narrow_row(const softcheck_call* call, Compute compute) {
  return each_row(call, [&](Row& row) { compute(row); });
}

/// The same for ops without a temperature: any theta except 1 is refused.
template <class Compute>
int each_row_at_theta_1(const softcheck_call* call, Compute compute) {
  return call->theta != 1 ? 1 : each_row(call, compute);
}

/// Computes the rows of a call that change(Matrices&) has changed by compute(RowOf<Real>&).
template <class Change, class Compute>
int rows_of_changed_call(const softcheck_call* call, Change change, Compute compute) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) return 1;
  change(*matrices);
  return each_row(*matrices, compute);
}

}  // namespace softcheck::kernels::zoo

/// A symbol of the library that takes a call.
#define SOFTCHECK_MUTANT extern "C" __attribute__((visibility("default"))) int

/// The head of a body: a function of the format Real that it computes in, or one of the call alone.
#define SOFTCHECK_BODY(result, name, ...) \
  template <class Real>                   \
  static result name([[maybe_unused]] const softcheck_call* asked, __VA_ARGS__)
#define SOFTCHECK_CALL_BODY(result, name, ...) \
  static result name([[maybe_unused]] const softcheck_call* asked, __VA_ARGS__)

/// A kernel: its symbol, its driver, the driver's further arguments, and its body.
///
///   BUG(mutant_scale_twice, each_row) {
///     row.theta *= row.theta;
///     softmax(row);
///   }
///
/// A driver is a function of (softcheck_call*, body, others...). The macro SOFTCHECK_BODY_driver next to it declares
/// the parameters of the body; the first one is always `asked`, the call.
#define BUG(symbol, driver, ...)                                                     \
  SOFTCHECK_BODY_##driver(symbol##_body);                                            \
  SOFTCHECK_MUTANT symbol(const softcheck_call* asked) {                             \
    const auto body = [asked](auto&&... of) { return symbol##_body(asked, of...); }; \
    return driver(asked, body __VA_OPT__(, ) __VA_ARGS__);                           \
  }                                                                                  \
  SOFTCHECK_BODY_##driver(symbol##_body)

/// The same of a kernel that is right.
#define CORRECT(symbol, driver, ...) BUG(symbol, driver __VA_OPT__(, ) __VA_ARGS__)

#define SOFTCHECK_BODY_each_row(name) SOFTCHECK_BODY(void, name, RowOf<Real>& row)
#define SOFTCHECK_BODY_each_narrow_row(name) SOFTCHECK_CALL_BODY(void, name, Row& row)
#define SOFTCHECK_BODY_each_row_at_theta_1(name) SOFTCHECK_BODY(void, name, RowOf<Real>& row)
#define SOFTCHECK_BODY_rows_of_changed_call(name) SOFTCHECK_CALL_BODY(void, name, Matrices& matrices)
