// What loading a library costs and may do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

const std::string slow = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_loads_slowly.so";

TEST(LoadedKernel, ACrashCostsAForkAndNotALoad) {
  if (const char* emulator = std::getenv("SOFTCHECK_EMULATOR")) GTEST_SKIP() << "the times are " << emulator << "'s";
  IsolatedKernel kernel({slow, "mutant_crashes_after_a_slow_load"}, limits_of());
  if (!kernel.containment().processes) GTEST_SKIP() << "without a pid namespace every process loads the library";
  const double seconds = seconds_of([&] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(kernel.call(one_row()).end, CallEnd::crashed);
  });
  EXPECT_LT(seconds, 5) << "ten loads take ten seconds";
}

TEST(LoadedKernel, ALibraryWithAThreadIsNotForked) {
  const std::string library = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_starts_a_thread.so";
  IsolatedKernel kernel({library, "correct_by_a_thread_from_loading"}, limits_of());
  const TensorReply reply = kernel.call(one_row());
  EXPECT_EQ(reply.end, CallEnd::done) << reply.death;
  EXPECT_EQ(reply.outputs.at(0), (std::vector<double>{0.5, 0.5}));
}

TEST(LoadedKernel, LoadingHasALimitOfItsOwn) {
  KernelLimits limits = limits_of();
  limits.seconds_per_call = 0.8;  // less than loading takes, and more than a call on a loaded machine
  IsolatedKernel kernel({slow, "correct_after_a_slow_load"}, limits);
  EXPECT_EQ(kernel.call(one_row()).end, CallEnd::done);
  limits.seconds_to_load = 0.2;
  try {
    IsolatedKernel never({slow, "correct_after_a_slow_load"}, limits);
    FAIL() << "loaded in 0.2 s";
  } catch (const KernelLoadError& error) {
    EXPECT_EQ(error.reason, KernelLoadError::Reason::died_while_loading);
    EXPECT_NE(std::string(error.what()).find("did not finish loading"), std::string::npos) << error.what();
  }
}

TEST(LoadedKernel, ALibraryThatSetsFtzAsItLoadsIsFound) {
  const std::string library = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_sets_ftz.so";
#if defined(__SSE__) || defined(__aarch64__)
  EXPECT_TRUE(IsolatedKernel({library, "mutant_sets_ftz_while_loading"}).loading_changed_environment());
#endif
  EXPECT_FALSE(IsolatedKernel({intruders, "mutant_writes_shape"}).loading_changed_environment());
}

TEST(LoadedKernel, ALimitIsANumberOfSeconds) {
  for (const double wrong : {std::nan(""), std::numeric_limits<double>::infinity(), 0.0, -1.0}) {
    KernelLimits limits;
    limits.seconds_per_call = wrong;
    EXPECT_THROW(IsolatedKernel({intruders, "mutant_writes_shape"}, limits), std::invalid_argument) << wrong;
    limits = {};
    limits.seconds_to_load = wrong;
    EXPECT_THROW(IsolatedKernel({intruders, "mutant_writes_shape"}, limits), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace softcheck::proptests
