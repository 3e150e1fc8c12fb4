// The same bits whatever the machine does: threads, reruns, instruction sets.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

/// rows different rows of n logits through a kernel.
std::vector<float> run_rows(softcheck_kernel kernel, const std::string& symbol, std::int64_t rows, std::int64_t n) {
  Tensor<float> in(dtype_of<float>(), {rows, n});
  for (std::int64_t r = 0; r < rows; ++r) {
    in.set_row(r, uneven_row<float>(static_cast<std::size_t>(n), static_cast<std::uint32_t>(r) + 1));
  }
  Tensor<float> out(dtype_of<float>(),
                    has_row_output(symbol) ? std::vector<std::int64_t>{rows} : std::vector<std::int64_t>{rows, n});
  Call call(in.view, out.view);
  if (kernel == nullptr || kernel(&call.call) != 0) return {};
  return out.elements;
}

TEST(CpuKernels, BitsDependOnNoThreadCountAndNoRun) {
  for (const std::string& symbol : cpu_symbols()) {
    for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{3000, 33}, {70, 1800}, {3, 100000}}) {
      const std::vector<float> once = run_rows(cpu_kernel(symbol), symbol, rows, n);
      ASSERT_FALSE(once.empty());
      for (const char* threads : {"1", "2", "7", "64"}) {
        setenv("SOFTCHECK_THREADS", threads, 1);
        EXPECT_TRUE(same_bits(run_rows(cpu_kernel(symbol), symbol, rows, n), once)) << symbol << " on " << threads;
      }
      unsetenv("SOFTCHECK_THREADS");
    }
  }
}

/// The bits of every kernel on a machine without what lies beyond an instruction set: in a process of its own, from a
/// copy of the library, as both choose once.
std::vector<float> results_up_to(const char* instruction_set) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    setenv("SOFTCHECK_MAX_ISA", instruction_set, 1);
    const std::string copy =
        (std::filesystem::temp_directory_path() / ("softcheck_cpu_" + std::to_string(getpid()) + ".so")).string();
    std::filesystem::copy_file(library_path("softcheck_cpu_kernels"), copy);
    void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(copy);
    for (const std::string& symbol : cpu_symbols()) {
      const auto kernel =
          library == nullptr ? nullptr : reinterpret_cast<softcheck_kernel>(dlsym(library, symbol.c_str()));
      for (const std::int64_t n : {1, 31, 500, 897, 5000}) {
        const std::vector<float> values = run_rows(kernel, symbol, 1, n);
        if (write(ends[1], values.data(), values.size() * sizeof(float)) < 0) _exit(1);
      }
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<float> values;
  float value = 0;
  for (ssize_t got = read(ends[0], &value, sizeof value); got == sizeof value;
       got = read(ends[0], &value, sizeof value)) {
    values.push_back(value);
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return values;
}

TEST(CpuKernels, InstructionSetsWithFmaGiveTheSameBits) {
  if (!__builtin_cpu_supports("avx512bw")) GTEST_SKIP() << "no AVX-512: there is one instruction set with FMA here";
  const std::vector<float> best = results_up_to("any");
  ASSERT_GT(best.size(), 10000u);
  EXPECT_TRUE(same_bits(results_up_to("avx2"), best));
  // Without FMA the last bits differ: the limit is obeyed.
  const std::vector<float> without = results_up_to("ssse3");
  EXPECT_EQ(without.size(), best.size());
  EXPECT_FALSE(same_bits(without, best));
}

}  // namespace
}  // namespace softcheck::kernel_tests
