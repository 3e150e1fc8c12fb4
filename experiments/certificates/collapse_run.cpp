// The set [a, b, ..., b] in the memory of a kernel.
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include "experiments/certificates/collapse.hpp"
#include "kernels/abi/kernel_call.hpp"
#include "numerics/formats/fp_environment.hpp"

namespace softcheck::experiments {

using numerics::Format;

namespace {

using kernels::call_of;
using kernels::CallTensor;

DLDataType type_of(Format format) {
  const auto bits = static_cast<std::uint8_t>(numerics::properties(format).storage_bits);
  return {static_cast<std::uint8_t>(format == Format::bf16 ? kDLBfloat : kDLFloat), bits, 1};
}

// (1, 1, length, 128) compact, each number in its format's bits.
class Rows {
 public:
  Rows(Format format, std::uint64_t length)
      : format_(format),
        bytes_(static_cast<std::size_t>(numerics::properties(format).storage_bits) / 8),
        data_(length * width * bytes_),
        tensor_(data_.data(), type_of(format), {1, 1, static_cast<std::int64_t>(length), width}) {}

  void set(std::uint64_t row, const Eigen::VectorXd& values) {
    for (Eigen::Index i = 0; i < width; ++i) {
      const std::uint64_t bits = numerics::encode(format_, values(i));
      std::memcpy(place(row, i), &bits, bytes_);  // little-endian, as DLPack's hosts are
    }
  }
  /// The first row, written to all that follow.
  void repeat(std::uint64_t row, std::uint64_t length) {
    for (std::uint64_t later = row + 1; later < length; ++later) {
      std::memcpy(place(later, 0), place(row, 0), width * bytes_);
    }
  }
  Eigen::VectorXd get(std::uint64_t row) {
    Eigen::VectorXd values(width);
    for (Eigen::Index i = 0; i < width; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, place(row, i), bytes_);
      values(i) = numerics::decode(format_, bits);
    }
    return values;
  }
  DLTensor* tensor() { return tensor_.get(); }

 private:
  std::byte* place(std::uint64_t row, Eigen::Index i) {
    return data_.data() + (row * width + static_cast<std::uint64_t>(i)) * bytes_;
  }

  Format format_;
  std::size_t bytes_;
  std::vector<std::byte> data_;
  CallTensor tensor_;
};

}  // namespace

std::optional<Eigen::VectorXd> run_attention(softcheck_kernel kernel, const CollapseTensors& tensors, std::uint64_t n) {
  const numerics::FpEnvironmentGuard environment;
  Rows query(tensors.format, 1), keys(tensors.format, n), values(tensors.format, n), out(tensors.format, 1);
  query.set(0, tensors.query);
  keys.set(0, tensors.odd_key);
  values.set(0, tensors.odd_value);
  if (n > 1) {
    keys.set(1, tensors.other_key);
    keys.repeat(1, n);
    values.set(1, tensors.other_value);
    values.repeat(1, n);
  }
  const std::array<const DLTensor*, 3> inputs{query.tensor(), keys.tensor(), values.tensor()};
  const std::array<DLTensor*, 1> outputs{out.tensor()};
  const softcheck_call call = call_of(inputs, outputs, tensors.scale);
  if (kernel(&call) != 0) return std::nullopt;
  return out.get(0);
}

}  // namespace softcheck::experiments
