#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"

// Glue of the mutants and of the correct-but-different kernels: f32 on the CPU, any strides, masks and theta, so that
// each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::mutants {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float quiet_nan = std::numeric_limits<float>::quiet_NaN();

struct Row {
  std::vector<float> logits;  // masked items are -inf
  double theta = 1;
  std::vector<float> out;  // as many as the op has for a row
};

struct StridedFloats {
  float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;

  float& at(std::int64_t row, std::int64_t column) const { return data[row * row_stride + column * column_stride]; }
};

inline bool is_f32(const DLTensor& t) {
  return t.device.device_type == kDLCPU && t.dtype.code == kDLFloat && t.dtype.bits == 32 && t.dtype.lanes == 1;
}

inline StridedFloats strided(const DLTensor& t) {
  StridedFloats view;
  view.data = reinterpret_cast<float*>(static_cast<char*>(t.data) + t.byte_offset);
  view.rows = t.shape[0];
  view.columns = t.ndim == 2 ? t.shape[1] : 1;
  view.row_stride = t.strides != nullptr ? t.strides[0] : view.columns;
  view.column_stride = t.strides != nullptr && t.ndim == 2 ? t.strides[1] : 1;
  return view;
}

inline bool accepts(const softcheck_call& call) {
  return call.abi_version == SOFTCHECK_KERNEL_ABI_VERSION && call.n_inputs >= 1 && call.n_inputs <= 2 &&
         call.n_outputs == 1 && is_f32(*call.inputs[0]) && is_f32(*call.outputs[0]) && call.inputs[0]->ndim == 2;
}

inline Row gather(const softcheck_call& call, std::int64_t row) {
  const StridedFloats in = strided(*call.inputs[0]);
  Row result;
  result.theta = call.theta;
  result.out.resize(call.outputs[0]->ndim == 2 ? static_cast<std::size_t>(in.columns) : 1);
  for (std::int64_t i = 0; i < in.columns; ++i) {
    result.logits.push_back(in.at(row, i));
  }
  if (call.n_inputs == 2) {
    const DLTensor& mask = *call.inputs[1];
    const auto* visible = static_cast<const std::uint8_t*>(mask.data) + mask.byte_offset;
    const std::int64_t row_stride = mask.strides != nullptr ? mask.strides[0] : in.columns;
    const std::int64_t column_stride = mask.strides != nullptr ? mask.strides[1] : 1;
    for (std::int64_t i = 0; i < in.columns; ++i) {
      if (visible[row * row_stride + i * column_stride] == 0) {
        result.logits[static_cast<std::size_t>(i)] = -infinity;
      }
    }
  }
  return result;
}

inline void scatter(const softcheck_call& call, std::int64_t row, const Row& from) {
  const StridedFloats out = strided(*call.outputs[0]);
  for (std::size_t i = 0; i < from.out.size(); ++i) {
    out.at(row, static_cast<std::int64_t>(i)) = from.out[i];
  }
}

/// Calls compute(Row&) for every row: it reads logits and theta and fills out.
template <class Compute>
int each_row(const softcheck_call* call, Compute compute) {
  if (!accepts(*call)) {
    return 1;
  }
  for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) {
    Row row = gather(*call, r);
    compute(row);
    scatter(*call, r, row);
  }
  return 0;
}

}  // namespace softcheck::kernels::mutants

#define SOFTCHECK_MUTANT extern "C" __attribute__((visibility("default"))) int
