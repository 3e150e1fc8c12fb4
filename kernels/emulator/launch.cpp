#include "kernels/emulator/launch.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/block/context.hpp"
#include "kernels/emulator/machine.hpp"

namespace softcheck::kernels::emulator {
namespace {

// What every GPU since compute capability 3 allows; shared memory as of 9.0, the most of all.
constexpr int most_threads = 1024;
constexpr std::size_t most_shared_bytes = std::size_t{227} << 10;
constexpr int most_cluster = 16;
constexpr std::int64_t most_at_once = 32767;  // threads of a cooperative launch

using Contents = std::vector<std::vector<std::byte>>;

Contents contents_of(std::span<const std::span<std::byte>> buffers) {
  Contents contents;
  for (const std::span<std::byte> buffer : buffers) contents.emplace_back(buffer.begin(), buffer.end());
  return contents;
}

void restore(std::span<const std::span<std::byte>> buffers, const Contents& contents) {
  for (std::size_t i = 0; i < buffers.size(); ++i) std::ranges::copy(contents[i], buffers[i].begin());
}

std::string name_of(const LaunchOptions& options) {
  std::string name = to_string(options.schedule);
  if (options.schedule == Schedule::random) name += " (seed " + std::to_string(options.seed) + ")";
  return name;
}

// Nothing if the contents are the same.
std::string first_difference(const Contents& left, const Contents& right) {
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto place = std::ranges::mismatch(left[i], right[i]).in1;
    if (place != left[i].end()) {
      return "byte " + std::to_string(place - left[i].begin()) + " of buffer " + std::to_string(i);
    }
  }
  return {};
}

}  // namespace

const char* to_string(Schedule schedule) {
  switch (schedule) {
    case Schedule::forward:
      return "forward";
    case Schedule::reverse:
      return "reverse";
    case Schedule::greedy:
      return "greedy";
    case Schedule::random:
      return "random";
  }
  return "";
}

std::string LaunchReport::text() const {
  std::string text;
  for (const Finding& finding : findings) {
    text += std::string(to_string(finding.kind)) + ": " + finding.message + "\n";
  }
  return text;
}

LaunchReport launch(const LaunchShape& shape, const Kernel& kernel, const LaunchOptions& options) {
  if (shape.blocks < 0) {
    throw std::invalid_argument("launch: blocks must be >= 0, got " + std::to_string(shape.blocks));
  }
  if (shape.threads < 1 || shape.threads > most_threads) {
    throw std::invalid_argument("launch: threads must be in [1, 1024], got " + std::to_string(shape.threads));
  }
  if (shape.shared_bytes > most_shared_bytes) {
    throw std::invalid_argument("launch: shared_bytes must be at most " + std::to_string(most_shared_bytes) + ", got " +
                                std::to_string(shape.shared_bytes));
  }
  if (shape.cluster < 1 || shape.cluster > most_cluster || shape.blocks % shape.cluster != 0 ||
      (shape.cluster > 1 && shape.threads % warp_size != 0)) {
    throw std::invalid_argument(
        "launch: cluster must be in [1, 16], divide "
        "blocks and have whole warps, got " +
        std::to_string(shape.cluster) + " of " + std::to_string(shape.blocks) + " blocks of " +
        std::to_string(shape.threads) + " threads");
  }
  if (shape.cooperative &&
      (shape.cluster != 1 || shape.threads % warp_size != 0 || shape.blocks > most_at_once / shape.threads)) {
    throw std::invalid_argument("launch: cooperative needs blocks of whole warps, no clusters and at most " +
                                std::to_string(most_at_once) + " threads, got " + std::to_string(shape.blocks) +
                                " blocks of " + std::to_string(shape.threads) + " threads in clusters of " +
                                std::to_string(shape.cluster));
  }
  if (Machine::running() != nullptr) throw std::invalid_argument("launch: a kernel cannot launch another");
  return Machine(shape, options, kernel).run();
}

LaunchReport launch_under_all_schedules(const LaunchShape& shape, std::span<const std::span<std::byte>> written,
                                        const Kernel& kernel, int random_schedules) {
  std::vector<LaunchOptions> runs = {
      {Schedule::forward, 1, written}, {Schedule::reverse, 1, written}, {Schedule::greedy, 1, written}};
  for (int i = 1; i <= random_schedules; ++i) {
    runs.push_back({Schedule::random, static_cast<std::uint64_t>(i), written});
  }
  const Contents before = contents_of(written);
  Contents first;
  LaunchReport report;
  for (const LaunchOptions& options : runs) {
    restore(written, before);
    LaunchReport one = launch(shape, kernel, options);
    if (!one.clean()) return one;
    const Contents after = contents_of(written);
    if (first.empty() && !written.empty()) {
      first = after;
    } else if (const std::string where = first_difference(first, after); !where.empty()) {
      one.findings.push_back(
          {FindingKind::schedule_dependent,
           where + " differs between the schedules " + name_of(runs.front()) + " and " + name_of(options),
           {}});
      return one;
    }
    report = std::move(one);
  }
  return report;
}

}  // namespace softcheck::kernels::emulator
