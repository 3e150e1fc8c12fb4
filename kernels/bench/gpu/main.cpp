// softcheck_gpu: compares the kernels on a GPU with the strict kernels, which have the same bits, then runs benchmarks,
// as ratios to the speed of memory. At run time it needs only a driver. `./run gpu` builds and runs it.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kernels/bench/gpu/report.hpp"

namespace softcheck {
// What cmake/build_info.cmake writes down.
struct BuildInfo {
  const char* version;
  const char* commit;
  const char* compiler;
  const char* build_type;
  bool arb;
};
namespace {
#include "build_info.inc"
}  // namespace
}  // namespace softcheck

namespace softcheck::kernels::gpu {
namespace {

// docs/design.md.
struct Exit {
  enum : int { holds = 0, violated = 1, usage = 2, unsupported = 4, crashed = 6 };
};

struct Options {
  std::string results = "kernels/bench/results";
  bool benchmarks = true;
  bool self_test = false;
  bool planted = false;
};

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--results" && i + 1 < argc) {
      options.results = argv[++i];
    } else if (argument == "--no-benchmarks") {
      options.benchmarks = false;
    } else if (argument == "--self-test") {
      options.self_test = true;
    } else if (argument == "--planted") {
      options.planted = true;
    } else {
      return false;
    }
  }
  return true;
}

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&time));
  return text;
}

int run(const Options& options) {
  const Device device = find_device();
  if (!options.self_test && !device.missing.empty()) {
    std::fprintf(stderr, "softcheck_gpu: %s\n", device.missing.c_str());
    return Exit::unsupported;
  }
  const bool on_device = !options.self_test;
  const std::vector<Comparison> comparisons =
      options.self_test ? compare_on_the_emulator(options.planted) : compare_on_the_device();
  std::fputs(table(comparisons).c_str(), stdout);
  const bool all_hold = std::ranges::all_of(comparisons, &Comparison::holds);
  Benchmarks benchmarks;
  if (on_device && options.benchmarks) {
    benchmarks = run_benchmarks(device.memory);
    std::fputs(table(benchmarks).c_str(), stdout);
  }
  const std::string date = now();
  const std::string file = file_name(options.results, date, on_device ? device.name : "self-test");
  std::filesystem::create_directories(options.results);
  std::ofstream to(file);
  to << report(device, date, build_info.commit, comparisons, benchmarks).dump(1) << '\n';
  to.close();
  if (!to) {
    std::fprintf(stderr, "softcheck_gpu: cannot write %s\n", file.c_str());
    return Exit::unsupported;
  }
  std::printf("raw results: %s\n", file.c_str());
  return all_hold ? Exit::holds : Exit::violated;
}

}  // namespace
}  // namespace softcheck::kernels::gpu

int main(int argc, char** argv) try {
  namespace gpu = softcheck::kernels::gpu;
  gpu::Options options;
  if (!gpu::read_options(argc, argv, options)) {
    std::fputs(
        "usage: softcheck_gpu [--results FOLDER] [--no-benchmarks] [--self-test [--planted]]\n"
        "  --self-test   no device: what the comparisons find of kernels on the emulator; planted: of wrong ones\n",
        stderr);
    return gpu::Exit::usage;
  }
  return gpu::run(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "softcheck_gpu: %s\n", error.what());
  return 6;
}
