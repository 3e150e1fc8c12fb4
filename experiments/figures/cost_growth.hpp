#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"

namespace softcheck::experiments {

/// The cost of one call: processor seconds of this thread, and bytes of memory other than its tensors.
struct CallCost {
  double seconds = 0;
  std::int64_t bytes = 0;
};

/// The least time of several rounds, each of calls that take at least round_seconds in all, and the peak growth of the
/// process's memory in the first call. The tensors must have been touched.
///
/// rounds   >= 1
/// error    memory: up to the pages that malloc keeps for small pieces; 0 if the system does not report it. (Linux
///          reports it in /proc/self/status, and glibc returns freed memory before the call.)
CallCost cost_of(const std::function<void()>& call, int rounds, double round_seconds);

/// The cost of one row, or of one query, of n items.
struct GrowthPoint {
  std::string kernel;  // "read of a row", "softmax", "adaptive attention", ...
  std::int64_t items = 0;
  CallCost cost;

  double nanoseconds_per_item() const { return cost.seconds * 1e9 / static_cast<double>(items); }
};

/// Which lengths of rows are measured, and how.
struct GrowthOptions {
  std::int64_t smallest = std::int64_t{1} << 10;
  std::int64_t largest = std::int64_t{1} << 26;  // items are smallest, 4 smallest, ... up to it
  std::int64_t width = 16;                       // of attention's query, keys and values: 128 bytes a key in all
  int rounds = 5;
  double round_seconds = 0.02;
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// f32, one thread: softmax, entropy and adaptive softmax of one row of logits in [0, 16), attention and adaptive
/// attention of one query. For comparison, the cost of reading the same tensors once ("read of a row", "read of keys
/// and values").
///
/// kernels   the library of the CPU kernels
/// throws    std::runtime_error naming the library, the kernel that it lacks, or the call that a kernel refused
std::vector<GrowthPoint> measure_growth(const std::filesystem::path& kernels, const GrowthOptions& options);

/// The slope of ln seconds against ln items by least squares, over a kernel's points of at least `from` items: 1 for a
/// cost that is proportional to n.
///
/// throws   std::invalid_argument if fewer than two points are left
double growth_exponent(const std::vector<GrowthPoint>& points, const std::string& kernel, std::int64_t from);

/// A line for each n, a column of nanoseconds an item for each kernel; then the exponents and the most memory.
std::string growth_table(const std::vector<GrowthPoint>& points);

/// The table as CSV, and time against n, both axes logarithmic.
Figure growth_figure(const std::vector<GrowthPoint>& points);

}  // namespace softcheck::experiments
