#pragma once

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {

using KernelOf = std::function<softcheck_kernel(const std::string& symbol)>;

/// What collect makes of the kernels of a machine without what lies beyond an instruction set: in a process of its own,
/// from a copy of the library, as both choose once.
inline std::vector<float> results_up_to(const char* instruction_set,
                                        const std::function<std::vector<float>(const KernelOf&)>& collect) {
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
    const std::vector<float> values = collect([&](const std::string& symbol) {
      return library == nullptr ? nullptr : reinterpret_cast<softcheck_kernel>(dlsym(library, symbol.c_str()));
    });
    const char* from = reinterpret_cast<const char*>(values.data());
    for (std::size_t left = values.size() * sizeof(float); left > 0;) {
      const ssize_t written = write(ends[1], from, left);
      if (written <= 0) _exit(1);
      from += written;
      left -= static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<float> values;
  std::array<float, 4096> some;
  std::size_t bytes = 0;  // of some, that are filled
  for (ssize_t got = 1; got > 0;) {
    got = read(ends[0], reinterpret_cast<char*>(some.data()) + bytes, sizeof some - bytes);
    bytes += got > 0 ? static_cast<std::size_t>(got) : 0;
    if (bytes == sizeof some || got <= 0) {
      values.insert(values.end(), some.begin(), some.begin() + bytes / sizeof(float));
      bytes = 0;
    }
  }
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return values;
}

}  // namespace softcheck::kernel_tests
