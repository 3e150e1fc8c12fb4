#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/abi/kernel_call.hpp"
#include "kernels/arithmetic/format_bits.hpp"

namespace softcheck::kernels::gpu {

enum class Format { f32, f16, bf16, f64 };
inline constexpr Format formats[] = {Format::f32, Format::f16, Format::bf16, Format::f64};

inline const char* to_string(Format format) {
  constexpr const char* names[] = {"f32", "f16", "bf16", "f64"};
  return names[static_cast<int>(format)];
}
inline std::size_t size_of(Format format) { return format == Format::f64 ? 8 : format == Format::f32 ? 4 : 2; }
inline DLDataType type_of(Format format) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(format));
  return {static_cast<std::uint8_t>(format == Format::bf16 ? kDLBfloat : kDLFloat), bits, 1};
}
/// The format of sums, and of lse and entropy.
inline Format wide_of(Format format) { return format == Format::f64 ? Format::f64 : Format::f32; }

inline double load(const std::byte* from, Format format) {
  if (format == Format::f64) {
    double x;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  if (format == Format::f32) {
    float x;
    std::memcpy(&x, from, sizeof x);
    return static_cast<double>(x);
  }
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return static_cast<double>(format == Format::f16 ? arithmetic::f16_to_f32(bits) : arithmetic::bf16_to_f32(bits));
}

inline void store(std::byte* to, Format format, double value) {
  if (format == Format::f64) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const float narrow = static_cast<float>(value);
  if (format == Format::f32) {
    std::memcpy(to, &narrow, sizeof narrow);
    return;
  }
  const std::uint16_t bits = format == Format::f16 ? arithmetic::f32_to_f16(narrow) : arithmetic::f32_to_bf16(narrow);
  std::memcpy(to, &bits, sizeof bits);
}

/// A compact tensor in the host's memory.
class HostTensor {
 public:
  HostTensor(Format format, std::vector<std::int64_t> shape)
      : format_(format),
        type_(type_of(format)),
        shape_(std::move(shape)),
        bytes_(std::max<std::size_t>(count() * size_of(format), 1)) {}
  /// A mask.
  explicit HostTensor(std::vector<std::int64_t> shape)
      : type_{kDLUInt, 8, 1}, shape_(std::move(shape)), bytes_(std::max<std::size_t>(count(), 1)) {}
  /// Cumulative lengths of packed sequences, from 0 on, as int32 or int64.
  template <class Index>
  static HostTensor offsets_of(const std::vector<std::int64_t>& lengths) {
    std::vector<Index> offsets{0};
    for (const std::int64_t n : lengths) offsets.push_back(static_cast<Index>(offsets.back() + n));
    HostTensor tensor(std::vector{static_cast<std::int64_t>(offsets.size())});
    tensor.type_ = {kDLInt, 8 * sizeof(Index), 1};
    tensor.bytes_.resize(offsets.size() * sizeof(Index));
    std::memcpy(tensor.bytes_.data(), offsets.data(), tensor.bytes_.size());
    return tensor;
  }

  std::size_t count() const {
    std::size_t all = 1;
    for (const std::int64_t extent : shape_) all *= static_cast<std::size_t>(extent);
    return all;
  }
  Format format() const { return format_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  void assign(std::vector<std::byte> bytes) { bytes_ = std::move(bytes); }
  double at(std::size_t i) const { return load(bytes_.data() + i * size_of(format_), format_); }
  void set(std::size_t i, double value) { store(bytes_.data() + i * size_of(format_), format_, value); }
  bool visible(std::size_t i) const { return bytes_[i] != std::byte{0}; }
  void show(std::size_t i, bool visible) { bytes_[i] = std::byte{visible}; }

  DLTensor view() {
    return {bytes_.data(), {kDLCPU, 0}, static_cast<int>(shape_.size()), type_, shape_.data(), nullptr, 0};
  }

 private:
  Format format_ = Format::f32;
  DLDataType type_;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> bytes_;
};

inline void fill_normal(HostTensor& tensor, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, spread);
  for (std::size_t i = 0; i < tensor.count(); ++i) tensor.set(i, normal(random));
}
inline void fill_mask(HostTensor& mask, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < mask.count(); ++i) mask.show(i, random() % 5 != 0);
}

/// Nonzero: refused.
inline int call_kernel(softcheck_kernel kernel, const std::vector<DLTensor>& inputs, std::vector<DLTensor> outputs,
                       double theta, double scale, bool causal) {
  std::vector<const DLTensor*> in;
  std::vector<DLTensor*> out;
  for (const DLTensor& tensor : inputs) in.push_back(&tensor);
  for (DLTensor& tensor : outputs) out.push_back(&tensor);
  const softcheck_call call = call_of(in, out, scale, causal, theta);
  return kernel(&call);
}

inline int call_kernel(softcheck_kernel kernel, const std::vector<HostTensor*>& inputs,
                       const std::vector<HostTensor*>& outputs, double theta = 1, double scale = 1,
                       bool causal = false) {
  std::vector<DLTensor> in, out;
  for (HostTensor* tensor : inputs) in.push_back(tensor->view());
  for (HostTensor* tensor : outputs) out.push_back(tensor->view());
  return call_kernel(kernel, in, out, theta, scale, causal);
}

}  // namespace softcheck::kernels::gpu
