#pragma once

#include <deque>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "numerics/rounding/contract.hpp"
#include "proptests/tests/kernels/attention_problems.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

// Kernels of rows, of any library and format, called with doubles that are values of the format.
namespace softcheck::kernel_tests {

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

}  // namespace softcheck::kernel_tests
