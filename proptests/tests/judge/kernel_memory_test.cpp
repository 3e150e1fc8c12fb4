// What a kernel may touch while it is called: the call's tensors, and no register's mode; and what it sends itself is
// no answer. Kernels of this program write elsewhere, or forge an answer.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>

#include "judge/inference/contract_inference.hpp"
#include "judge/sandbox/guarded_pages.hpp"
#include "judge/sandbox/kernel_messages.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/tests/judge/kernel_samples.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

// A kernel that does this and returns.
std::function<int(const softcheck_call*)> doing(std::function<void(const softcheck_call*)> work) {
  return [work](const softcheck_call* call) {
    work(call);
    return 0;
  };
}

TEST(CallMemory, TheCallIsReadOnly) {
  const std::vector<std::function<void(const softcheck_call*)>> writes{
      [](const softcheck_call* call) { const_cast<softcheck_call*>(call)->theta = 2; },
      [](const softcheck_call* call) { call->inputs[0]->shape[0] = 5; },
      [](const softcheck_call* call) { call->outputs[0]->ndim = 1; },
      [](const softcheck_call* call) { const_cast<const DLTensor**>(call->inputs)[0] = nullptr; }};
  for (const auto& write : writes) {
    EXPECT_EQ(own_reply(doing(write)).death, "signal 11 (Segmentation fault)");
  }
}

// Behind the end of a view that begins its pages, and in front of one that ends them.
TEST(CallMemory, OnlyWhatTheCallCoversCanBeTouched) {
  for (const std::ptrdiff_t distance : {std::ptrdiff_t{1} << 17, std::ptrdiff_t{1} << 20, std::ptrdiff_t{32} << 20}) {
    for (const bool at_the_end : {true, false}) {
      KernelCall call = two_logits();
      call.layout.against_the_end = call.output_layout.against_the_end = at_the_end;
      const auto writes = [&](const softcheck_call* asked) {
        static_cast<volatile char*>(asked->outputs[0]->data)[at_the_end ? -distance : distance] = 1;
        return 0;
      };
      EXPECT_EQ(own_reply(writes, lowered(call)).end, CallEnd::crashed) << distance;
    }
  }
}

TEST(CallMemory, ATensorThatIsNotInTheCallCannotBeTouched) {
  KernelCall masked = two_logits();
  masked.mask = {1, 1};
  volatile char* mask = nullptr;  // as the kernel's process remembers it
  IsolatedKernel kernel(source_of([&](const softcheck_call* call) {
                          if (call->n_inputs == 2) mask = static_cast<volatile char*>(call->inputs[1]->data);
                          if (call->n_inputs == 1) *mask = 1;
                          return 0;
                        }),
                        limits_of());
  EXPECT_EQ(kernel.call(lowered(masked)).end, CallEnd::done);
  EXPECT_EQ(kernel.call(one_row()).death, "signal 11 (Segmentation fault)");
  EXPECT_EQ(kernel.call(lowered(masked)).end, CallEnd::done);
}

#if defined(__x86_64__)
TEST(CallMemory, TheRegistersOfX87AndMmxAreCheckedToo) {
  const std::vector<std::function<void()>> changes{[] {
                                                     __asm__ volatile("fld1" ::: "st");
                                                   },
                                                   [] {
                                                     __asm__ volatile("pxor %%mm0, %%mm0" ::: "mm0");
                                                   },
                                                   [] {
                                                     const unsigned short word = 0x027f;
                                                     __asm__ volatile("fldcw %0" ::"m"(word));
                                                   }};
  for (const auto& change : changes) {
    EXPECT_TRUE(own_reply(doing([&](const softcheck_call*) { change(); })).environment_changed);
  }
}
#elif defined(__aarch64__)
TEST(CallMemory, EveryFieldOfFpcrIsChecked) {
  // FZ, FZ16, default NaNs, the alternative half format, upward and downward (Arm Architecture Reference Manual, FPCR).
  for (const std::uint64_t field : {0x1000000, 0x80000, 0x2000000, 0x4000000, 0x400000, 0x800000}) {
    const auto set = [field](const softcheck_call*) { __asm__ volatile("msr fpcr, %0" ::"r"(field)); };
    EXPECT_TRUE(own_reply(doing(set)).environment_changed) << std::hex << field;
  }
}
#endif

KernelCall row_in_the_middle() {
  KernelCall call = two_logits();
  call.layout.row_gap = call.output_layout.row_gap = 8;
  call.layout.offset = call.output_layout.offset = 8;
  return call;
}

// Sends an answer that says 0 through every socket that the kernel's process has.
void forge(std::uint64_t number) {
  ServerMessage answer;
  answer.kind = ServerMessage::Kind::answered;
  answer.number = number;
  for (int file = 3; file < 256; ++file) send(file, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

TEST(ForgedAnswers, AnAnswerWithAnotherNumberIsACrash) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    const auto refuses = [=](const softcheck_call*) {
      forge(number);
      return 5;
    };
    const TensorReply reply = own_reply(refuses, lowered(row_in_the_middle()));
    EXPECT_EQ(reply.end, CallEnd::crashed) << number;
    EXPECT_EQ(reply.death, "a message of its own to the judge") << number;
  }
}

TEST(ForgedAnswers, AWriteBesideAnInputChangesAnInputAndOneBesideAnOutputIsOutside) {
  const auto beside_input = doing([](const softcheck_call* call) { numbers_of(*call->inputs[0])[-1] = 7; });
  const auto beside_output = doing([](const softcheck_call* call) { numbers_of(*call->outputs[0])[-1] = 7; });
  KernelCall call = row_in_the_middle();
  TensorReply reply = own_reply(beside_input, lowered(call));
  EXPECT_TRUE(reply.inputs_changed);
  EXPECT_FALSE(reply.wrote_outside);
  reply = own_reply(beside_output, lowered(call));
  EXPECT_FALSE(reply.inputs_changed);
  EXPECT_TRUE(reply.wrote_outside);
  call.in_place = true;
  reply = own_reply(beside_output, lowered(call));
  EXPECT_FALSE(reply.inputs_changed);
  EXPECT_TRUE(reply.wrote_outside);
}

// Plug-ins that were compiled long ago are called by the same bytes: version 1 of a call never moves a member, and
// version 2 begins with it.

TEST(AbiLayout, VersionOneIsWhatItWas) {
  ASSERT_EQ(sizeof(void*), 8u) << "the numbers below are those of 64-bit machines";
  EXPECT_EQ(offsetof(softcheck_call, abi_version), 0u);
  EXPECT_EQ(offsetof(softcheck_call, n_inputs), 4u);
  EXPECT_EQ(offsetof(softcheck_call, n_outputs), 8u);
  EXPECT_EQ(offsetof(softcheck_call, inputs), 16u);
  EXPECT_EQ(offsetof(softcheck_call, outputs), 24u);
  EXPECT_EQ(offsetof(softcheck_call, theta), 32u);
  EXPECT_EQ(offsetof(softcheck_call, scale), 40u);
  EXPECT_EQ(offsetof(softcheck_call, causal), 48u);
  EXPECT_EQ(offsetof(softcheck_call, stream), 56u);
  EXPECT_EQ(sizeof(softcheck_call), 64u);
}

TEST(AbiLayout, VersionTwoBeginsWithVersionOne) {
  EXPECT_EQ(offsetof(softcheck_call_2, call), 0u);
  EXPECT_EQ(offsetof(softcheck_call_2, op), 64u);
  EXPECT_EQ(offsetof(softcheck_call_2, input_roles), 72u);
  EXPECT_EQ(offsetof(softcheck_call_2, attributes), 80u);
  EXPECT_EQ(offsetof(softcheck_attributes, size), 0u);
  EXPECT_EQ(offsetof(softcheck_attributes, window_left_plus_1), 8u);
  EXPECT_EQ(offsetof(softcheck_attributes, ignore_index), 88u);
  EXPECT_EQ(offsetof(softcheck_attributes, sigmoid_bias), 112u);
  EXPECT_EQ(offsetof(softcheck_attributes, reverse), 120u);
  EXPECT_EQ(offsetof(softcheck_attributes, sigmoid), 124u);
  EXPECT_EQ(offsetof(softcheck_attributes, routed_scale), 144u);
  EXPECT_EQ(sizeof(softcheck_attributes), 152u);
}

// What a kernel that knows version 1 alone does with another: it reads no further.
TEST(AbiLayout, OnlyACallOfVersionTwoHasItsMembers) {
  softcheck_call_2 call{};
  call.call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  EXPECT_EQ(softcheck_version_2(&call.call), nullptr);
  call.call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION_2;
  EXPECT_EQ(softcheck_version_2(&call.call), &call);
  call.call.abi_version = 3;
  EXPECT_EQ(softcheck_version_2(&call.call), nullptr);
}

// Kernels that the judge's own process passes on: how their calls may end, and that nothing outside a domain is asked.

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

// By a signal; under a sanitizer by its exit. A statement that returns has not died, whatever this says.
bool died(int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0); }

constexpr std::size_t size = 300;  // no multiple of a page

TEST(GuardedPagesDeathTest, AReadBehindTheEndKills) {
  GuardedPages pages(size, Filling::input);
  const volatile std::byte* bytes = pages.place(size, true);
  EXPECT_EXIT(static_cast<void>(bytes[size]), died, "");
}

TEST(GuardedPagesDeathTest, AReadBeforeTheBeginningKills) {
  GuardedPages pages(size, Filling::input);
  const volatile std::byte* bytes = pages.place(size, false);
  EXPECT_EXIT(static_cast<void>(*(bytes - 1)), died, "");
}

TEST(GuardedPages, AWriteBesideTheViewShowsOnce) {
  GuardedPages pages(size, Filling::output);
  for (const bool against_the_end : {true, false}) {
    std::byte* view = pages.place(size, against_the_end);
    EXPECT_TRUE(pages.restore());
    *(against_the_end ? view - 1 : view + size) = std::byte{0};
    EXPECT_FALSE(pages.restore());
    EXPECT_TRUE(pages.restore());
  }
}

TEST(GuardedPages, AViewTellsWhatWasNeverWritten) {
  GuardedPages pages(size, Filling::output);
  std::byte* view = pages.place(size, true);
  float unwritten = 0;
  std::memcpy(&unwritten, view + 8, sizeof unwritten);
  EXPECT_GT(unwritten, 1) << "no coefficient";
  view[7] = std::byte{0xff};
  EXPECT_FALSE(pages.restore());
}

TEST(GuardedPages, AViewLargerThanItsPagesIsRefused) {
  GuardedPages pages(size, Filling::input);
  EXPECT_THROW(pages.place(pages.size() + 1, true), std::invalid_argument);
}

constexpr std::size_t far_apart = std::size_t{1} << 35;

TEST(GuardedPages, SparsePagesHoldWhatIsUsed) {
  const std::array used{ByteRange{far_apart, far_apart + 8}, ByteRange{0, 8}};
  GuardedPages pages(far_apart + 8, Filling::input, used);
  std::byte* view = pages.place(far_apart + 8, false);
  EXPECT_EQ(view[far_apart], std::byte{0xff});
  EXPECT_TRUE(pages.restore());
  view[far_apart + 9] = std::byte{0};
  EXPECT_FALSE(pages.restore());
  EXPECT_TRUE(pages.restore());
}

TEST(GuardedPagesDeathTest, BetweenSparsePagesNothingCanBeTouched) {
  const std::array used{ByteRange{0, 8}, ByteRange{far_apart, far_apart + 8}};
  GuardedPages pages(far_apart + 8, Filling::input, used);
  const volatile std::byte* view = pages.place(far_apart + 8, false);
  EXPECT_EXIT(static_cast<void>(view[far_apart / 2]), died, "");
}

TEST(GuardedPages, SparseRangesOutsideAreRefused) {
  EXPECT_THROW(GuardedPages(8, Filling::input, std::array{ByteRange{4, 9}}), std::invalid_argument);
  EXPECT_THROW(GuardedPages(8, Filling::input, std::array{ByteRange{4, 4}}), std::invalid_argument);
  EXPECT_THROW(GuardedPages(8, Filling::input, {}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
