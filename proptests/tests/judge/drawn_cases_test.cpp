// The same seed draws the same cases with every compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/judge/attention/attention_trial.hpp"
#include "proptests/judge/kernel_judge.hpp"
#include "proptests/judge/kernel_properties.hpp"
#include "proptests/judge/kernel_trial.hpp"

namespace softcheck::proptests {
namespace {

// FNV-1a.
class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    value_ = (value_ ^ 0xffu) * 0x100000001b3u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

std::uint64_t hash_of(const std::vector<KernelProperty>& properties, const JudgeOptions& options) {
  TextHash hash;
  for (const KernelProperty& one : properties) {
    RunOptions run = options.run;
    run.cases = std::min(one.cases, 40);
    one.property.each_case(run, [&](const std::string& text) { hash.add(text); });
  }
  return hash.value();
}

std::uint64_t hash_of_cases(Op op, numerics::Format format) {
  KernelSubject subject;
  subject.op = op;
  subject.source = {std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_zoo.so", "correct_two_pass"};
  subject.contract = numerics::parse_contract("", format, format);
  JudgeOptions options = judge_options(Effort::quick);
  options.max_length = 4096;
  options.max_edge_length = 4096;
  options.cover_elements = 4096;
  if (op->attention) {
    AttentionTrial trial(subject, options.limits);
    return hash_of(attention_properties(subject, options, trial), options);
  }
  KernelTrial trial(subject, options.limits);
  return hash_of(kernel_properties(subject, options, trial), options);
}

struct Pin {
  std::string_view op;
  std::uint64_t f32, bf16;
};

// From g++ 12 and clang 14 on x86-64. Who changes what is drawn on purpose prints the new ones with this test.
constexpr std::array pins{
    Pin{"softmax", 0xbc5f0e38bb96c728, 0x15e1b976a36dc323},
    Pin{"log_softmax", 0xbc5f0e38bb96c728, 0x15e1b976a36dc323},
    Pin{"logsumexp", 0xbc5f0e38bb96c728, 0x15e1b976a36dc323},
    Pin{"entropy", 0xbc5f0e38bb96c728, 0x15e1b976a36dc323},
    Pin{"adaptive_softmax", 0x6ce06f8858a83824, 0xab62c14680e15c60},
    Pin{"softmax_backward", 0x00017d4e6a06c093, 0xbd6d52dbaa6af793},
    Pin{"log_softmax_backward", 0x00017d4e6a06c093, 0xbd6d52dbaa6af793},
    Pin{"cross_entropy", 0x0a378fa9f459eca8, 0x29f550f5a1769e42},
    Pin{"cross_entropy_backward", 0x0a378fa9f459eca8, 0x29f550f5a1769e42},
    Pin{"cross_entropy_mean", 0x0a378fa9f459eca8, 0x29f550f5a1769e42},
    Pin{"cross_entropy_mean_backward", 0x0a378fa9f459eca8, 0x29f550f5a1769e42},
    Pin{"merge_states", 0x023f9c1479d011f2, 0x023f9c1479d011f2},
    Pin{"topk_softmax", 0x19a500eb05c5bcd9, 0x2aa6b362b7715ae4},
    Pin{"top_p_softmax", 0x9c1d0ca67da93a26, 0xd6cdfd19a12e3906},
    Pin{"sparsemax", 0x19a500eb05c5bcd9, 0x2aa6b362b7715ae4},
    Pin{"entmax15", 0x19a500eb05c5bcd9, 0x2aa6b362b7715ae4},
    Pin{"attention", 0xd510d175c412c19f, 0x2b7e89ece5e0efeb},
    Pin{"adaptive_attention", 0x93a54da876b1a2b4, 0xe799a345968f3ec6},
    Pin{"attention_backward", 0xda1c11818c647170, 0x163e03f3b9096bf8},
};

TEST(DrawnCases, OfOneSeedAreTheSameWithEveryCompiler) {
  std::string now;
  bool same = true;
  for (const Op op : all_ops()) {
    const std::uint64_t f32 = hash_of_cases(op, numerics::Format::f32),
                        bf16 = hash_of_cases(op, numerics::Format::bf16);
    const auto* pin = std::ranges::find(pins, to_string(op), &Pin::op);
    same = same && pin != pins.end() && pin->f32 == f32 && pin->bf16 == bf16;
    std::array<char, 120> line{};
    std::snprintf(line.data(), line.size(), "    Pin{\"%s\", 0x%016llx, 0x%016llx},\n",
                  std::string(to_string(op)).c_str(), static_cast<unsigned long long>(f32),
                  static_cast<unsigned long long>(bf16));
    now += line.data();
  }
  EXPECT_TRUE(same) << "the hashes are now:\n" << now;
}

}  // namespace
}  // namespace softcheck::proptests
