#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "judge/trial/effort.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/report/report.hpp"

// Judges a kernel inside its author's program, with three lines in a test:
//
//     TEST(MySoftmax, Conforms) {
//       EXPECT_TRUE(softcheck::conforms(my_softmax, "softmax f32 sum=lanes:8"));
//     }
namespace softcheck {

/// GoogleTest's AssertionResult, without including its header.
template <class Result>
concept AssertionResult = std::constructible_from<Result, bool> && requires(Result result, const std::string& text) {
  { result.failure_message() } -> std::convertible_to<const char*>;
  result << text;
};

/// The result of a judgement. Converts to true if the kernel passed.
struct Conformance {
  proptests::ReportVerdict verdict = proptests::ReportVerdict::undecided;
  proptests::Report report;
  std::string text;  // the report, for a reader

  bool passed() const { return verdict == proptests::ReportVerdict::pass; }
  explicit operator bool() const { return passed(); }
  /// Lets EXPECT_TRUE print the text of a failure.
  template <AssertionResult Result>
  operator Result() const {  // NOLINT(google-explicit-constructor): what EXPECT_TRUE converts by
    Result result(passed());
    result << text;
    return result;
  }
};

struct ConformanceOptions {
  /// Not set: the effort in SOFTCHECK_EFFORT, or quick.
  std::optional<proptests::Effort> effort;
  /// "PROPERTY CASE" from the report of a failure: judge only that case.
  std::string replay;
  double seconds_per_call = proptests::KernelLimits{}.seconds_per_call;
};

/// Reads one row of logits and writes its results: (n) each, or (1) result for logsumexp and entropy. Masked items are
/// -inf. 16-bit formats are passed as their bits.
template <class In, class Out>
using RowFunction = std::function<void(std::span<const In> logits, std::span<Out> results)>;
/// The same at a temperature: the function must divide the logits by theta.
template <class In, class Out>
using TemperedRowFunction = std::function<void(std::span<const In> logits, double theta, std::span<Out> results)>;

namespace conformance {

using Kernel = std::function<int(const softcheck_call*)>;

/// Calls the function for every row of a call: directly if the row is contiguous and unmasked, else on a copy. Refuses
/// calls with theta != 1 if the function takes no temperature.
template <class In, class Out>
Kernel each_row(TemperedRowFunction<In, Out> row, bool tempered);

extern template Kernel each_row(TemperedRowFunction<float, float>, bool);
extern template Kernel each_row(TemperedRowFunction<double, double>, bool);
extern template Kernel each_row(TemperedRowFunction<std::uint16_t, std::uint16_t>, bool);
extern template Kernel each_row(TemperedRowFunction<std::uint16_t, float>, bool);

template <class In, class Out, class Function>
constexpr bool is_row_function = std::is_invocable_v<Function, std::span<const In>, std::span<Out>>;
template <class In, class Out, class Function>
constexpr bool is_tempered_row_function = std::is_invocable_v<Function, std::span<const In>, double, std::span<Out>>;

template <class In, class Out, class Function>
bool adapt(const Function& function, Kernel& kernel) {
  if constexpr (is_tempered_row_function<In, Out, Function>) {
    kernel = each_row<In, Out>(function, true);
    return true;
  } else if constexpr (is_row_function<In, Out, Function>) {
    kernel = each_row<In, Out>(
        [function](std::span<const In> logits, double, std::span<Out> results) { function(logits, results); }, false);
    return true;
  }
  return false;
}

Conformance judge(proptests::KernelSource source, std::string_view words, const ConformanceOptions& options);

}  // namespace conformance

/// Judges a kernel in a child process: a crash or a hang is a failure and does not end the program.
///
/// kernel   int(const softcheck_call*), as in kernels/abi/softcheck_kernel.h; or void(std::span<const T> logits,
///          std::span<T> results), optionally with a double theta in between, where T is float, double, or
///          std::uint16_t for the bits of f16 and bf16 (with float results for logsumexp and entropy). It runs in a
///          fork of this process: its changes to the program's state are lost.
/// words    "OP DTYPE WORDS...": "softmax f32", "entropy bf16 acc=f32 sum=tree deterministic". The words are those of
///          the contract (numerics/rounding/contract.hpp); deterministic, batch-invariant and in-place, which the judge
///          then requires; out=DTYPE for row values in the logits' own format; and exempt=CLAIM for a claim that the
///          kernel is known to break.
/// throws   std::invalid_argument for unknown words or an invalid replay; calls of another DTYPE than T are refused
template <class Function>
requires(!std::convertible_to<Function, std::string_view>) Conformance
    conforms(const Function& kernel, std::string_view words, const ConformanceOptions& options = {}) {
  proptests::KernelSource source{"", "your_kernel", {}};  // the replay line shows this name for the caller's expression
  if constexpr (std::is_invocable_r_v<int, Function, const softcheck_call*>) {
    source.callable = kernel;
  } else {
    using Bits = std::uint16_t;
    const bool adapted = conformance::adapt<float, float>(kernel, source.callable) ||
                         conformance::adapt<double, double>(kernel, source.callable) ||
                         conformance::adapt<Bits, Bits>(kernel, source.callable) ||
                         conformance::adapt<Bits, float>(kernel, source.callable);
    (void)adapted;
    static_assert(conformance::is_row_function<float, float, Function> ||
                      conformance::is_row_function<double, double, Function> ||
                      conformance::is_row_function<Bits, Bits, Function> ||
                      conformance::is_row_function<Bits, float, Function> ||
                      conformance::is_tempered_row_function<float, float, Function> ||
                      conformance::is_tempered_row_function<double, double, Function> ||
                      conformance::is_tempered_row_function<Bits, Bits, Function> ||
                      conformance::is_tempered_row_function<Bits, float, Function>,
                  "conforms: need int(const softcheck_call*) or void(std::span<const T>, std::span<T>)");
  }
  return conformance::judge(std::move(source), words, options);
}

/// The same for a kernel in a shared library.
///
/// kernel   "LIB:SYMBOL"
/// throws   proptests::KernelLoadError
Conformance conforms(std::string_view kernel, std::string_view words, const ConformanceOptions& options = {});

}  // namespace softcheck
