// What a kernel may touch while it is called: the call's tensors, and no register's mode; and what it sends itself is
// no answer. Kernels of this program write elsewhere, or forge an answer.
#include <sys/socket.h>
#include <unistd.h>

#include "judge/sandbox/kernel_messages.hpp"
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

}  // namespace
}  // namespace softcheck::proptests
