#include "judge/campaigns/host_class.hpp"

#include <sys/utsname.h>

#include <array>
#include <fstream>
#include <string_view>

namespace softcheck::proptests {
namespace {

// Linux's names: of x86-64, then of AArch64.
constexpr std::array extensions = {"sse4_2",   "avx2",    "fma",  "avx512f", "avx512_bf16", "avx512_fp16",
                                   "amx_bf16", "asimdhp", "bf16", "i8mm",    "sve",         "sve2"};

std::string value_of(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? "" : line.substr(colon + 2);
}

}  // namespace

std::string host_class() {
  utsname machine{};
  std::string result = uname(&machine) == 0 ? machine.machine : "unknown";
  std::string name, flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("model name")) name = value_of(line);
    if (line.starts_with("flags") || line.starts_with("Features")) flags = " " + value_of(line) + " ";
  }
  if (!name.empty()) result += ", " + name;
  std::string found;
  for (const char* extension : extensions) {
    if (flags.find(" " + std::string(extension) + " ") != std::string::npos) found += " " + std::string(extension);
  }
  return found.empty() ? result : result + "," + found;
}

}  // namespace softcheck::proptests
