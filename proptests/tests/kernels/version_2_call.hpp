#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/tests/kernels/attention_problems.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

namespace softcheck::kernel_tests {

// Kernels of rows, of any library and format, called with doubles that are values of the format.

/// One row: a mask where visible has items, an incoming gradient where that has.
struct RowCall {
  std::vector<double> logits;
  std::vector<std::uint8_t> visible = {};
  std::vector<double> gradient = {};
  double theta = 1;
};

/// The kernels of a library (cpu, emulated) on logits of a format.
struct RowKernels {
  std::string library;
  numerics::Format format;

  std::string name() const { return library + "_" + std::string(numerics::properties(format).name); }
  std::string symbol(const std::string& op) const {
    return "softcheck_" + (library == "cpu" ? "" : library + "_") + op;
  }
  numerics::Contract contract() const {
    return numerics::parse_contract(
        promised_words(symbol("adaptive_softmax"), std::string(numerics::properties(format).name)), format, format);
  }
  numerics::Format wide() const {
    return format == numerics::Format::f64 ? numerics::Format::f64 : numerics::Format::f32;
  }
  double unit_roundoff() const { return numerics::properties(wide()).unit_roundoff; }
  std::vector<double> rounded(std::vector<double> values) const {
    for (double& x : values) x = numerics::round_to(format, x);
    return values;
  }

  /// The outputs, one a format of the list, each of this shape; nothing where the call is refused.
  std::optional<std::vector<std::vector<double>>> run(const std::string& op, const RowCall& call, const Shape& shape,
                                                      const std::vector<numerics::Format>& formats) const {
    const Shape row = {1, static_cast<std::int64_t>(call.logits.size())};
    std::deque<PlacedTensor> tensors;
    std::vector<const DLTensor*> inputs;
    const auto input = [&](const auto& values, DLDataType type, const numerics::Format* of) {
      inputs.push_back(&tensors.emplace_back(row, compact_placing(row), type, of).view());
      tensors.back().write(values);
    };
    input(call.logits, dlpack_type(format), &format);
    if (!call.gradient.empty()) input(call.gradient, dlpack_type(format), &format);
    if (!call.visible.empty()) input(call.visible, mask_type, nullptr);
    std::vector<DLTensor*> outputs;
    for (const numerics::Format& of : formats) {
      outputs.push_back(&tensors.emplace_back(shape, compact_placing(shape), dlpack_type(of), &of).view());
      // What is not written is neither NaN nor what anything here results in.
      tensors.back().write(std::vector(tensors.back().read().size(), numerics::properties(of).largest));
    }
    const softcheck_kernel kernel = load_kernel("softcheck_" + library + "_kernels", symbol(op));
    if (kernel == nullptr) ADD_FAILURE() << library << " has no " << op;
    if (!takes_call(kernel, inputs, outputs, 1, false, call.theta)) return std::nullopt;
    std::vector<std::vector<double>> results;
    for (std::size_t i = inputs.size(); i < tensors.size(); ++i) results.push_back(tensors[i].read());
    return results;
  }
};

inline std::ostream& operator<<(std::ostream& out, const RowKernels& kernels) { return out << kernels.name(); }

/// What rounding to a format may move a value by that is this once rounded.
inline double rounding_of(numerics::Format format, double rounded) {
  const numerics::FormatProperties& of = numerics::properties(format);
  return of.unit_roundoff * std::fabs(rounded) + of.smallest_subnormal / 2;
}

/// For INSTANTIATE_TEST_SUITE_P: both libraries, every format.
inline auto all_row_kernels() {
  std::vector<RowKernels> all;
  for (const char* library : {"cpu", "emulated"}) {
    for (const numerics::Format format :
         {numerics::Format::f32, numerics::Format::f64, numerics::Format::f16, numerics::Format::bf16}) {
      all.push_back({library, format});
    }
  }
  return testing::ValuesIn(all);
}
inline std::string name_of_kernels(const testing::TestParamInfo<RowKernels>& test) { return test.param.name(); }

/// A call of version 2 of a CPU kernel. Its parts may be changed before it runs.
struct Call2 {
  Call2(softcheck_op op, std::vector<const DLTensor*> tensors, std::vector<std::uint32_t> tensor_roles, DLTensor& out)
      : inputs(std::move(tensors)), roles(std::move(tensor_roles)), outputs{&out} {
    attributes.size = sizeof attributes;
    attributes.ignore_index = -100;
    whole.call = {SOFTCHECK_KERNEL_ABI_VERSION_2, 0, 0, nullptr, nullptr, 1.0, 1.0, 0, nullptr};
    whole.op = op;
  }
  Call2(const Call2&) = delete;
  Call2& operator=(const Call2&) = delete;

  void add_input(const DLTensor& tensor, std::uint32_t role) {
    inputs.push_back(&tensor);
    roles.push_back(role);
  }

  /// Whether the kernel takes it.
  bool run() {
    static const std::map<std::uint32_t, std::string> names{
        {SOFTCHECK_OP_SOFTMAX_BACKWARD, "softmax_backward"},
        {SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, "log_softmax_backward"},
        {SOFTCHECK_OP_CROSS_ENTROPY, "cross_entropy"},
        {SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, "cross_entropy_backward"},
        {SOFTCHECK_OP_CROSS_ENTROPY_MEAN, "cross_entropy_mean"},
        {SOFTCHECK_OP_CROSS_ENTROPY_MEAN_BACKWARD, "cross_entropy_mean_backward"},
        {SOFTCHECK_OP_TOPK_SOFTMAX, "topk_softmax"},
        {SOFTCHECK_OP_MERGE_STATES, "merge_states"},
        {SOFTCHECK_OP_ATTENTION, "attention"},
        {SOFTCHECK_OP_ATTENTION_BACKWARD, "attention_backward"}};
    return run("softcheck_" + names.at(whole.op));
  }
  bool run(const std::string& symbol) {
    const softcheck_kernel kernel = cpu_kernel(symbol);
    if (kernel == nullptr) ADD_FAILURE() << "no kernel for op " << whole.op;
    whole.call.n_inputs = static_cast<std::uint32_t>(inputs.size());
    whole.call.inputs = inputs.data();
    whole.call.n_outputs = static_cast<std::uint32_t>(outputs.size());
    whole.call.outputs = outputs.data();
    whole.input_roles = roles.data();
    whole.attributes = &attributes;
    return kernel != nullptr && kernel(&whole.call) == 0;
  }

  std::vector<const DLTensor*> inputs;
  std::vector<std::uint32_t> roles;
  std::vector<DLTensor*> outputs;
  softcheck_attributes attributes{};
  softcheck_call_2 whole{};
};

using Roles = std::vector<std::uint32_t>;
inline Roles loss_roles() { return {SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS}; }
inline Roles loss_gradient_roles() { return {SOFTCHECK_ROLE_LOGITS, SOFTCHECK_ROLE_LABELS, SOFTCHECK_ROLE_UPSTREAM}; }
inline Roles saved_roles() { return {SOFTCHECK_ROLE_SAVED, SOFTCHECK_ROLE_OUT_GRADIENT}; }
inline Roles attention_roles() { return {SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE}; }

/// run<Type>() for each type.
template <class... Types, class Run>
void for_each_type(Run run) {
  (run.template operator()<Types>(), ...);
}

template <class Int>
constexpr DLDataType label_type = {kDLInt, 8 * sizeof(Int), 1};

/// A number as its format stores it.
template <class Bits>
struct Stored;
template <>
struct Stored<float> {
  static constexpr DLDataType type = dtype_of<float>();
  static float of(double x) { return static_cast<float>(x); }
  static double number(float bits) { return bits; }
};
template <>
struct Stored<double> {
  static constexpr DLDataType type = dtype_of<double>();
  static double of(double x) { return x; }
  static double number(double bits) { return bits; }
};
template <>
struct Stored<std::uint16_t> {
  static constexpr DLDataType type = bf16;
  static std::uint16_t of(double x) { return static_cast<std::uint16_t>(numerics::encode(numerics::Format::bf16, x)); }
  static double number(std::uint16_t bits) { return numerics::decode(numerics::Format::bf16, bits); }
};
template <class Bits>
std::vector<Bits> stored(const std::vector<double>& numbers) {
  std::vector<Bits> bits;
  for (const double x : numbers) bits.push_back(Stored<Bits>::of(x));
  return bits;
}

}  // namespace softcheck::kernel_tests
