#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace softcheck::kernels::gpu {

/// One kernel on one problem, timed in turns with those of the same group.
struct Timing {
  std::string group, kernel, format, problem;
  std::vector<double> seconds;  // of each round
  double bytes = 0;             // that it must move, 0 if that is not its limit
  double flops = 0;             // 4 a score and column of the head, of attention
  double of_ceiling = 0;        // bytes per second, as a share of the copy's or the read's; 0: not applicable
  double to_first = 0;          // seconds, of the group's first

  double median() const;
};

struct Ceilings {
  Timing copy, read;
};

struct Benchmarks {
  Ceilings ceilings;
  std::vector<Timing> timings;
};

/// On the device, in some minutes at most; memory bytes of it.
Benchmarks run_benchmarks(std::size_t memory);

/// The middle one; of an even number the mean of two. 0 of none.
double median_of(std::vector<double> values);

}  // namespace softcheck::kernels::gpu
