#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <span>

#include "kernels/emulator/launch.hpp"

namespace softcheck::kernels::emulator {

/// A launch through the ABI. The schedule depends on width, a length of the call: a sweep of widths runs every
/// schedule, and a call has the same bits each time. A finding is printed and ends the process, which the judge reports
/// as a crash.
///
/// traced   global memory in which to look for races
inline void launched(const LaunchShape& shape, const Kernel& kernel, std::int64_t width,
                     std::span<const std::span<std::byte>> traced = {}) {
  const Schedule schedule = schedules[static_cast<std::size_t>(width) % std::size(schedules)];
  const LaunchReport report = launch(shape, kernel, {schedule, 1, traced});
  if (report.clean()) return;
  std::fputs(report.text().c_str(), stderr);
  std::abort();
}

}  // namespace softcheck::kernels::emulator
