#pragma once

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/abi/kernel_call.hpp"

// What the benchmarks share: kernels by name, and times that can be compared on a machine that does other things too.
namespace softcheck::kernels::bench {

/// nullptr if the library was not built or lacks the symbol.
inline softcheck_kernel kernel_of(const char* library, const char* symbol) {
  void* handle = dlopen((std::string(SOFTCHECK_KERNEL_DIR) + "/lib" + library + ".so").c_str(), RTLD_NOW);
  return handle == nullptr ? nullptr : reinterpret_cast<softcheck_kernel>(dlsym(handle, symbol));
}

/// This thread's CPU time, in seconds.
inline double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least CPU time of each work over all rounds. The works run in turns, so that other processes, which only add
/// time, affect all of them alike. A first round warms the caches.
inline std::vector<double> interleaved_seconds(const std::vector<std::function<void()>>& works, int rounds) {
  std::vector<double> best(works.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < works.size(); ++i) {
      const double start = cpu_seconds();
      works[i]();
      benchmark::ClobberMemory();
      if (round > 0) best[i] = std::min(best[i], cpu_seconds() - start);
    }
  }
  return best;
}

/// Numbers in [0, 16), the same in every run.
inline void fill(std::vector<float>& values, std::uint32_t seed) {
  std::uint32_t state = seed;
  for (float& x : values) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) * 0x1p-20f;
  }
}

}  // namespace softcheck::kernels::bench
