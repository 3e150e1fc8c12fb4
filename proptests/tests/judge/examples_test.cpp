// The CUDA example is compiled wherever nvcc is and judged wherever it can run; the C and C++ ones are rows of the zoo.
#include <filesystem>

#include "proptests/tests/judge/kernel_samples.hpp"

namespace softcheck::proptests {
namespace {

TEST(CudaExample, PassesOnADeviceAndIsRefusedWithoutOne) {
  const std::string library = library_path("softcheck_example_cuda");
  if (!std::filesystem::exists(library)) GTEST_SKIP() << "nvcc was not found when this was built";
  // CUDA documents expf to 2 ulp; 256 threads add strided sums, which are merged in halves.
  KernelSubject subject = subject_by({library, "example_softmax_cuda"}, {.contract = "exp=2ulp sum=lanes:256"});
  const bool device = std::filesystem::exists("/dev/nvidia0");
  if (device) subject.source.device = Device::cuda;  // which has the sockets and the addresses that its driver needs
  EXPECT_STREQ(to_string(judged(subject).verdict), device ? "pass" : "refused");
}

}  // namespace
}  // namespace softcheck::proptests
