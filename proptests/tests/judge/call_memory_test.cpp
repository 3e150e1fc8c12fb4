// What a kernel may touch while it is called: the call's tensors, and no register's mode.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

TEST(CallMemory, TheCallIsReadOnly) {
  const std::vector<std::function<void(const softcheck_call*)>> writes{
      [](const softcheck_call* call) { const_cast<softcheck_call*>(call)->theta = 2; },
      [](const softcheck_call* call) { call->inputs[0]->shape[0] = 5; },
      [](const softcheck_call* call) { call->outputs[0]->ndim = 1; },
      [](const softcheck_call* call) { const_cast<const DLTensor**>(call->inputs)[0] = nullptr; }};
  for (const auto& write : writes) {
    IsolatedKernel kernel(source_of([&](const softcheck_call* call) {
                            write(call);
                            return 0;
                          }),
                          limits_of());
    EXPECT_EQ(kernel.call(one_row()).death, "signal 11 (Segmentation fault)");
  }
}

// Behind the end of a view that begins its pages, and in front of one that ends them.
TEST(CallMemory, OnlyWhatTheCallCoversCanBeTouched) {
  for (const std::ptrdiff_t distance : {std::ptrdiff_t{1} << 17, std::ptrdiff_t{1} << 20, std::ptrdiff_t{32} << 20}) {
    for (const bool at_the_end : {true, false}) {
      KernelCall call;
      call.columns = 2;
      call.logits = {1, 1};
      call.layout.against_the_end = call.output_layout.against_the_end = at_the_end;
      IsolatedKernel kernel(source_of([&](const softcheck_call* asked) {
                              static_cast<volatile char*>(asked->outputs[0]->data)[at_the_end ? -distance : distance] =
                                  1;
                              return 0;
                            }),
                            limits_of());
      EXPECT_EQ(kernel.call(lowered(call)).end, CallEnd::crashed) << distance;
    }
  }
}

TEST(CallMemory, ATensorThatIsNotInTheCallCannotBeTouched) {
  KernelCall masked;
  masked.columns = 2;
  masked.logits = {1, 1};
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
    IsolatedKernel kernel(source_of([&](const softcheck_call*) {
                            change();
                            return 0;
                          }),
                          limits_of());
    EXPECT_TRUE(kernel.call(one_row()).environment_changed);
  }
}
#elif defined(__aarch64__)
TEST(CallMemory, EveryFieldOfFpcrIsChecked) {
  // FZ, FZ16, default NaNs, the alternative half format, upward and downward (Arm Architecture Reference Manual, FPCR).
  for (const std::uint64_t field : {0x1000000, 0x80000, 0x2000000, 0x4000000, 0x400000, 0x800000}) {
    IsolatedKernel kernel(source_of([field](const softcheck_call*) {
                            __asm__ volatile("msr fpcr, %0" ::"r"(field));
                            return 0;
                          }),
                          limits_of());
    EXPECT_TRUE(kernel.call(one_row()).environment_changed) << std::hex << field;
  }
}
#endif

}  // namespace
}  // namespace softcheck::proptests
