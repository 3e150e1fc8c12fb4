// Kernels that the judge's own process passes on: how their calls may end, and that nothing outside a domain is asked.
#include "judge/inference/contract_inference.hpp"
#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

// A softmax of compact f32 rows that takes no notice of theta.
void softmax_at_theta_1(const softcheck_call& call) { each_compact_row(call, softmax_in_double); }

using Forwarded = std::function<ForwardedEnd(const softcheck_call*)>;
KernelSubject sequential_subject(Forwarded kernel, const char* domain) {
  return forwarded_subject(std::move(kernel), {.contract = "sum=sequential", .domain = domain});
}

TEST(ForwardedKernel, InferenceAsksNothingOutsideTheDomain) {
  std::size_t calls = 0, outside = 0;
  const KernelSubject subject = sequential_subject(
      [&](const softcheck_call* call) {
        ++calls;
        const bool inside = call->theta == 1 && call->n_inputs == 1 && call->inputs[0]->shape[1] % 16 == 0;
        outside += inside ? 0 : 1;
        softmax_at_theta_1(*call);
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
  const auto refuses = [](const softcheck_call*) { return ForwardedEnd{CallEnd::refused, 1, "", ""}; };
  const KernelSubject subject = sequential_subject(refuses, "n<=4 theta=1 nomask compact");
  const Report report{rows_of(subject, judged(subject))};
  for (const std::string& text : {to_table(report), to_json(report), to_junit(report)}) {
    EXPECT_THAT(text, HasSubstr("a crash, a hang or a stray write of the function ends or harms this program"));
  }
}

// Labelled full: ForwardedKernel.ACallEndsAsItIsSaidToHave
TEST(ForwardedKernel, ACallEndsAsItIsSaidToHave) {
  const auto verdict = [](CallEnd end) {
    const KernelSubject subject = sequential_subject(
        [end](const softcheck_call* call) {
          softmax_at_theta_1(*call);
          return call->inputs[0]->shape[1] < 3 ? ForwardedEnd{} : ForwardedEnd{end, 1, "its own word", "a line\n"};
        },
        "theta=1 nomask compact");
    return judged(subject);
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
