#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

// Kernels that tests judge: those of the build's libraries, and small ones of the test program itself.
namespace softcheck::proptests {

// Names that nearly every test uses.
using numerics::Contract;
using numerics::Decision;
using numerics::Enclosure;
using numerics::Format;
using numerics::infinity;
using numerics::nan;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// library_path("softcheck_zoo"): one of the libraries that the build made.
inline std::string library_path(const std::string& name) { return SOFTCHECK_KERNEL_DIR "/lib" + name + ".so"; }

/// What a kernel is judged by, in the command's words.
struct SubjectWords {
  Op op = Op::softmax;
  numerics::Format format = numerics::Format::f32;
  std::string contract = {};
  std::string domain = {};
};

inline KernelSubject subject_by(KernelSource source, const SubjectWords& words = {}) {
  KernelSubject subject;
  subject.source = std::move(source);
  subject.op = words.op;
  subject.contract = numerics::parse_contract(words.contract, words.format, output_format(words.op, words.format));
  subject.domain = domain_of(words.domain, words.op);
  return subject;
}
inline KernelSubject zoo_subject(const std::string& symbol, const SubjectWords& words = {}) {
  return subject_by({library_path("softcheck_zoo"), symbol}, words);
}
/// Our own kernels on the CPU, by what they promise.
inline KernelSubject cpu_subject(const std::string& symbol, SubjectWords words = {}) {
  words.contract = kernel_tests::promised_words(symbol, std::string(numerics::properties(words.format).name));
  return subject_by({library_path("softcheck_cpu_kernels"), symbol}, words);
}
/// A function of this program, called in a process of its own.
inline KernelSubject own_subject(std::function<int(const softcheck_call*)> kernel, const SubjectWords& words = {}) {
  return subject_by({"", "kernel", std::move(kernel)}, words);
}
/// The same, called in this process.
inline KernelSubject forwarded_subject(std::function<ForwardedEnd(const softcheck_call*)> kernel,
                                       const SubjectWords& words = {}) {
  KernelSubject subject = subject_by({"", "kernel"}, words);
  subject.source.forwarded = std::move(kernel);
  return subject;
}

/// Quick effort, by these properties or by all; cases of each, 0: as many as the effort has.
inline JudgeOptions quick_options(std::vector<std::string> only = {}, int cases = 0) {
  JudgeOptions options = judge_options(Effort::quick);
  options.only = std::move(only);
  if (cases > 0) options.run.cases = cases;
  return options;
}
inline KernelJudgement judged(const KernelSubject& subject, std::vector<std::string> only = {}) {
  return judge_kernel(subject, quick_options(std::move(only)));
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}
inline std::string details_of(const std::vector<ReportRow>& rows) {
  std::string text;
  for (const ReportRow& row : rows) text += joined(row.details);
  return text;
}

/// What a call that is refused says of it; "not refused".
template <class Error = std::invalid_argument, class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

/// The numbers of a tensor of a call.
template <class Number = float>
Number* numbers_of(const DLTensor& tensor) {
  return reinterpret_cast<Number*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

/// Element i of a compact tensor of the format.
inline double number_at(const DLTensor& tensor, numerics::Format format, std::size_t i) {
  const auto bytes = static_cast<std::size_t>(numerics::properties(format).storage_bits) / 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, numbers_of<std::byte>(tensor) + i * bytes, bytes);
  return numerics::decode(format, bits);
}
inline void put_at(const DLTensor& tensor, numerics::Format format, std::size_t i, double value) {
  const auto bytes = static_cast<std::size_t>(numerics::properties(format).storage_bits) / 8;
  const std::uint64_t bits = numerics::encode(format, value);
  std::memcpy(numbers_of<std::byte>(tensor) + i * bytes, &bits, bytes);
}

/// A kernel of one of the build's libraries, loaded into this program.
inline softcheck_kernel loaded_kernel(const std::string& library, const std::string& symbol) {
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* kernel = loaded == nullptr ? nullptr : dlsym(loaded, symbol.c_str());
  if (kernel == nullptr) throw std::runtime_error(library + ": no " + symbol);
  return reinterpret_cast<softcheck_kernel>(kernel);
}

/// Fowler, Noll and Vo's hash of bytes.
class Hash {
 public:
  void add(const void* data, std::size_t size) {
    for (std::size_t k = 0; k < size; ++k) {
      value_ = (value_ ^ static_cast<const unsigned char*>(data)[k]) * 0x100000001b3u;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// Exhaustive effort, of so many arguments from the first on.
inline JudgeOptions exhaustive_options(std::uint64_t first, std::uint64_t count) {
  JudgeOptions options = judge_options(Effort::exhaustive);
  options.arguments = {first, first + count};
  return options;
}

/// Calls compute(logits, results) with each row of a call on compact matrices.
template <class Number = float, class Compute>
void each_compact_row(const softcheck_call& call, const Compute& compute) {
  const auto rows = static_cast<std::size_t>(call.inputs[0]->shape[0]),
             n = static_cast<std::size_t>(call.inputs[0]->shape[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    compute(std::span<const Number>(numbers_of<Number>(*call.inputs[0]) + r * n, n),
            std::span<Number>(numbers_of<Number>(*call.outputs[0]) + r * n, n));
  }
}

/// The largest, or NaN where one of them is NaN.
template <class T>
T maximum_of(std::span<const T> logits) {
  T maximum = -INFINITY;
  for (const T x : logits) maximum = std::isnan(x) || x > maximum ? x : maximum;
  return maximum;
}

/// softmax at theta 1 in double, each coefficient rounded once.
inline void softmax_in_double(std::span<const float> logits, std::span<float> results) {
  const double maximum = maximum_of(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - maximum);
  for (std::size_t i = 0; i < logits.size(); ++i) results[i] = static_cast<float>(std::exp(logits[i] - maximum) / sum);
}

/// A softmax of compact f32 rows by a weight(argument, item, n, theta) of each item and a sum(weights).
template <class Weight, class Sum>
int softmax_by(const softcheck_call& call, const Weight& weight, const Sum& sum) {
  const auto scale = static_cast<float>(1 / call.theta);
  each_compact_row(call, [&](std::span<const float> x, std::span<float> p) {
    const float maximum = maximum_of(x);
    const auto n = static_cast<std::int64_t>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      p[i] = weight((x[i] - maximum) * scale, static_cast<std::int64_t>(i), n, call.theta);
    }
    const float total = sum(p);
    for (float& one : p) one = std::isnan(total) ? NAN : std::fmin(one / total, 1.0F);
  });
  return 0;
}

}  // namespace softcheck::proptests
