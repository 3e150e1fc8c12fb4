// Kernels that the judge's own process passes on: how their calls may end, and that nothing outside a domain is asked.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "judge/inference/contract_inference.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/sandbox/isolated_kernel.hpp"

namespace softcheck::proptests {
namespace {

// A softmax of compact f32 rows that takes no notice of theta.
void softmax(const softcheck_call& call) {
  const DLTensor &in = *call.inputs[0], &out = *call.outputs[0];
  const auto* x = reinterpret_cast<const float*>(static_cast<const char*>(in.data) + in.byte_offset);
  auto* p = reinterpret_cast<float*>(static_cast<char*>(out.data) + out.byte_offset);
  for (std::int64_t row = 0; row < in.shape[0]; ++row, x += in.shape[1], p += in.shape[1]) {
    float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::int64_t i = 0; i < in.shape[1]; ++i) maximum = std::isnan(x[i]) || x[i] > maximum ? x[i] : maximum;
    for (std::int64_t i = 0; i < in.shape[1]; ++i) sum += p[i] = std::exp(x[i] - maximum);
    for (std::int64_t i = 0; i < in.shape[1]; ++i) p[i] /= sum;
  }
}

KernelSubject subject_of(std::function<ForwardedEnd(const softcheck_call*)> forwarded, const std::string& domain) {
  KernelSubject subject;
  subject.source.symbol = "forwarded";
  subject.source.forwarded = std::move(forwarded);
  subject.contract = numerics::parse_contract("sum=sequential", numerics::Format::f32,
                                              output_format(Op::softmax, numerics::Format::f32));
  subject.domain = parse_domain(domain, false);
  return subject;
}

TEST(ForwardedKernel, InferenceAsksNothingOutsideTheDomain) {
  std::size_t calls = 0, outside = 0;
  const KernelSubject subject = subject_of(
      [&](const softcheck_call* call) {
        ++calls;
        const bool inside = call->theta == 1 && call->n_inputs == 1 && call->inputs[0]->shape[1] % 16 == 0;
        outside += inside ? 0 : 1;
        softmax(*call);
        return ForwardedEnd{};
      },
      "n=16k rows<=8 theta=1 nomask compact");
  const Inference inference = infer_contract(subject, judge_options(Effort::quick));
  EXPECT_TRUE(inference.contract.has_value()) << inference.failure;
  EXPECT_GT(calls, 100u);
  EXPECT_EQ(outside, 0u);
  EXPECT_EQ(inference.judgement.isolation, KernelSource{}.forwarded_isolation);
}

TEST(ForwardedKernel, EveryReportSaysWhatIsNotContained) {
  const KernelSubject subject = subject_of(
      [](const softcheck_call*) {
        return ForwardedEnd{CallEnd::refused, 1, "", ""};
      },
      "n<=4 theta=1 nomask compact");
  const Report report{rows_of(subject, judge_kernel(subject, judge_options(Effort::quick)))};
  for (const std::string& text : {to_table(report), to_json(report), to_junit(report)}) {
    EXPECT_NE(text.find("a crash, a hang or a stray write of the function ends or harms this program"),
              std::string::npos)
        << text;
  }
}

// Labelled full: ForwardedKernel.ACallEndsAsItIsSaidToHave
TEST(ForwardedKernel, ACallEndsAsItIsSaidToHave) {
  const auto verdict = [](CallEnd end) {
    const KernelSubject subject = subject_of(
        [end](const softcheck_call* call) {
          softmax(*call);
          return call->inputs[0]->shape[1] < 3 ? ForwardedEnd{} : ForwardedEnd{end, 1, "its own word", "a line\n"};
        },
        "theta=1 nomask compact");
    return judge_kernel(subject, judge_options(Effort::quick));
  };
  EXPECT_EQ(verdict(CallEnd::done).verdict, ReportVerdict::pass);
  EXPECT_EQ(verdict(CallEnd::crashed).verdict, ReportVerdict::crash);
  EXPECT_EQ(verdict(CallEnd::timed_out).verdict, ReportVerdict::timeout);
  EXPECT_EQ(verdict(CallEnd::refused).verdict, ReportVerdict::fail);  // inside the domain
  const KernelJudgement malformed = verdict(CallEnd::malformed);
  EXPECT_EQ(malformed.verdict, ReportVerdict::fail);
  EXPECT_EQ(malformed.printed_lines, std::vector<std::string>{"a line"});
  ASSERT_TRUE(malformed.counterexample.has_value());
  EXPECT_EQ(malformed.counterexample->failed.front().claim, "kernel.returns");
}

}  // namespace
}  // namespace softcheck::proptests
