// Plug-ins that were compiled long ago are called by the same bytes: version 1 of a call never moves a member, and
// version 2 begins with it.
#include <gtest/gtest.h>

#include <cstddef>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::proptests {
namespace {

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
  EXPECT_EQ(sizeof(softcheck_attributes), 104u);
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

}  // namespace
}  // namespace softcheck::proptests
