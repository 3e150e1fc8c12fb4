// The CUDA example is compiled wherever nvcc is and judged wherever it can run; the C and C++ ones are rows of the zoo.
#include <gtest/gtest.h>

#include <filesystem>

#include "judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

TEST(CudaExample, PassesOnADeviceAndIsRefusedWithoutOne) {
  const std::string library = std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_example_cuda.so";
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "nvcc was not found when this was built";
  KernelSubject subject;
  subject.source = {library, "example_softmax_cuda"};
  // CUDA documents expf to 2 ulp; 256 threads add strided sums, which are merged in halves.
  subject.contract = numerics::parse_contract("exp=2ulp sum=lanes:256", numerics::Format::f32, numerics::Format::f32);
  JudgeOptions options = judge_options(Effort::quick);
  const bool device = std::filesystem::exists("/dev/nvidia0");
  if (device) subject.source.device = Device::cuda;  // which has the sockets and the addresses that its driver needs
  const KernelJudgement judgement = judge_kernel(subject, options);
  EXPECT_STREQ(to_string(judgement.verdict), device ? "pass" : "refused");
}

}  // namespace
}  // namespace softcheck::proptests
