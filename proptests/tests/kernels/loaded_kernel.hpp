#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <ios>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/abi/kernel_call.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::kernel_tests {

/// Path of a plug-in built beside these tests, or of another one of its name in SOFTCHECK_KERNEL_DIR of the
/// environment, where proptests/tests/planted/ puts one with a bug.
inline std::string library_path(const std::string& library) {
  const char* elsewhere = std::getenv("SOFTCHECK_KERNEL_DIR");
  return std::string(elsewhere == nullptr ? SOFTCHECK_KERNEL_DIR : elsewhere) + "/lib" + library + ".so";
}

/// A kernel by name; nullptr where the library or the symbol is missing. Libraries stay loaded.
inline softcheck_kernel load_kernel(const std::string& library, const std::string& symbol) {
  void* handle = dlopen(library_path(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<softcheck_kernel>(dlsym(handle, symbol.c_str()));
}

inline softcheck_kernel cpu_kernel(const std::string& symbol) { return load_kernel("softcheck_cpu_kernels", symbol); }

template <class T>
constexpr DLDataType dtype_of() {
  return {kDLFloat, 8 * sizeof(T), 1};
}
constexpr DLDataType f16 = {kDLFloat, 16, 1};
constexpr DLDataType bf16 = {kDLBfloat, 16, 1};
constexpr DLDataType mask_type = {kDLUInt, 8, 1};
inline DLDataType dlpack_type(numerics::Format format) {
  return {static_cast<std::uint8_t>(numerics::properties(format).dlpack_code),
          static_cast<std::uint8_t>(numerics::properties(format).storage_bits), 1};
}

/// A tensor of elements Bits over a buffer that it owns, with room before and between the elements.
template <class Bits>
struct Tensor {
  Tensor(DLDataType type, std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {},
         std::size_t offset = 0, Bits fill = Bits{})
      : shape(std::move(extents)), strides(std::move(steps)), first(offset) {
    std::size_t needed = offset + 1;
    std::size_t compact = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[d]);
      needed += (extent > 0 ? extent - 1 : 0) * (strides.empty() ? compact : static_cast<std::size_t>(strides[d]));
      compact *= extent;
    }
    elements.assign(needed, fill);
    view = {elements.data(),
            {kDLCPU, 0},
            static_cast<int>(shape.size()),
            type,
            shape.data(),
            strides.empty() ? nullptr : strides.data(),
            offset * sizeof(Bits)};
  }
  Tensor(const Tensor& other)
      : shape(other.shape), strides(other.strides), first(other.first), elements(other.elements), view(other.view) {
    view.data = elements.data();
    view.shape = shape.data();
    if (view.strides != nullptr) view.strides = strides.data();
  }
  Tensor& operator=(const Tensor&) = delete;

  void set(std::vector<Bits> values) {
    elements = std::move(values);
    view.data = elements.data();
  }
  Bits& operator[](std::size_t place) { return elements[place]; }

  std::size_t index(std::int64_t row, std::int64_t column) const {
    const std::int64_t row_step = !strides.empty() ? strides[0] : (shape.size() == 2 ? shape[1] : 1);
    const std::int64_t column_step = strides.size() == 2 ? strides[1] : 1;
    return first + static_cast<std::size_t>(row * row_step + column * column_step);
  }
  Bits& at(std::int64_t row, std::int64_t column = 0) { return elements[index(row, column)]; }

  void set_row(std::int64_t row, const std::vector<Bits>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      at(row, static_cast<std::int64_t>(i)) = values[i];
    }
  }
  std::vector<Bits> row(std::int64_t r) {
    std::vector<Bits> values;
    for (std::int64_t i = 0; i < (shape.size() == 2 ? shape[1] : 1); ++i) {
      values.push_back(at(r, i));
    }
    return values;
  }

  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::size_t first;
  std::vector<Bits> elements;
  DLTensor view;
};

struct F32 : Tensor<float> {
  explicit F32(std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {}, std::size_t offset = 0,
               float fill = 0)
      : Tensor(dtype_of<float>(), std::move(extents), std::move(steps), offset, fill) {}
};

/// A call of version 1 with theta = 1.
struct Call {
  Call(const DLTensor& logits, DLTensor& output, const DLTensor* mask = nullptr)
      : inputs{&logits, mask}, outputs{&output} {
    call = kernels::call_of({inputs, mask == nullptr ? 1u : 2u}, outputs);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const DLTensor* inputs[2];
  DLTensor* outputs[1];
  softcheck_call call;
};

/// Whether there is a kernel and it takes these tensors.
inline bool takes_call(softcheck_kernel kernel, const std::vector<const DLTensor*>& inputs,
                       const std::vector<DLTensor*>& outputs, double scale = 1, bool causal = false, double theta = 1) {
  const softcheck_call call = kernels::call_of(inputs, outputs, scale, causal, theta);
  return kernel != nullptr && kernel(&call) == 0;
}

/// A call of a CPU kernel with any tensors, theta = 1; fails the test on a refusal.
inline void run_call(const std::string& symbol, const std::vector<const DLTensor*>& inputs,
                     const std::vector<DLTensor*>& outputs, double scale = 1, bool causal = false) {
  if (!takes_call(cpu_kernel(symbol), inputs, outputs, scale, causal)) {
    ADD_FAILURE() << symbol << " is missing or refused a call";
  }
}

inline bool has_row_output(const std::string& symbol) {
  return symbol == "softcheck_logsumexp" || symbol == "softcheck_entropy" || symbol == "softcheck_varentropy";
}

/// Of the result of a kernel of rows.
inline std::vector<std::int64_t> result_shape(const std::string& symbol, std::int64_t rows, std::int64_t columns) {
  return has_row_output(symbol) ? std::vector{rows} : std::vector{rows, columns};
}

/// One compact row through a CPU kernel, visible saying which items are not masked; fails the test on a refusal.
template <class Bits>
std::vector<Bits> run_row(const std::string& symbol, DLDataType type, const std::vector<Bits>& logits,
                          const std::vector<std::uint8_t>* visible = nullptr, double theta = 1) {
  const auto n = static_cast<std::int64_t>(logits.size());
  Tensor<Bits> in(type, {1, n});
  in.set_row(0, logits);
  Tensor<Bits> out(type, result_shape(symbol, 1, n));
  std::optional<Tensor<std::uint8_t>> mask;
  if (visible != nullptr) {
    mask.emplace(mask_type, std::vector<std::int64_t>{1, n});
    mask->set_row(0, *visible);
  }
  Call call(in.view, out.view, mask ? &mask->view : nullptr);
  call.call.theta = theta;
  const softcheck_kernel kernel = cpu_kernel(symbol);
  if (kernel == nullptr || kernel(&call.call) != 0) {
    ADD_FAILURE() << symbol << " is missing or refused a row of " << n;
    return {};
  }
  return out.row(0);
}

/// Equality of bits: NaN equals the same NaN, 0 differs from -0.
template <class Bits>
::testing::AssertionResult same_bits(const std::vector<Bits>& left, const std::vector<Bits>& right) {
  if (left.size() == right.size() &&
      (left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(Bits)) == 0)) {
    return ::testing::AssertionSuccess();
  }
  ::testing::AssertionResult failure = ::testing::AssertionFailure();
  failure << "sizes " << left.size() << ", " << right.size();
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (std::memcmp(&left[i], &right[i], sizeof(Bits)) != 0) {
      return failure << "; first difference at " << i << ": " << std::hexfloat << left[i] << " and " << right[i];
    }
  }
  return failure;
}

/// A row of logits in [-32, 0), varied enough for sums to depend on their order.
template <class T>
std::vector<T> uneven_row(std::size_t n, std::uint32_t seed = 1) {
  std::vector<T> logits(n);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (T& x : logits) {
    state = state * 1664525u + 1013904223u;
    x = -static_cast<T>(state >> 8) / static_cast<T>(1u << 19);
  }
  return logits;
}

/// Different ones in all rows of a matrix.
template <class T>
void fill_unevenly(Tensor<T>& matrix) {
  for (std::int64_t r = 0; r < matrix.shape[0]; ++r) {
    matrix.set_row(r, uneven_row<T>(static_cast<std::size_t>(matrix.shape[1]), static_cast<std::uint32_t>(r) + 1));
  }
}

/// Calls run with kernels on so many threads.
template <class Run>
void on_threads(std::initializer_list<const char*> counts, Run run) {
  for (const char* threads : counts) {
    SCOPED_TRACE(std::string("on threads: ") + threads);
    setenv("SOFTCHECK_THREADS", threads, 1);
    run();
  }
  unsetenv("SOFTCHECK_THREADS");
}

inline const std::vector<std::string>& cpu_symbols() {
  static const std::vector<std::string> symbols = {"softcheck_softmax",          "softcheck_log_softmax",
                                                   "softcheck_logsumexp",        "softcheck_entropy",
                                                   "softcheck_adaptive_softmax", "softcheck_varentropy"};
  return symbols;
}

/// Sizes around the widths of vectors, lanes and blocks (448 doubles, 896 floats).
inline const std::vector<std::size_t>& telling_sizes() {
  static const std::vector<std::size_t> sizes = {1,  2,  3,   7,   8,   15,  16,  17,  31,  32,   33,   63,   64,
                                                 65, 99, 447, 448, 449, 895, 896, 897, 960, 1791, 1792, 2689, 5000};
  return sizes;
}

}  // namespace softcheck::kernel_tests
