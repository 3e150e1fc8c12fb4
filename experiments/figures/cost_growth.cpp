#include "experiments/figures/cost_growth.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>

#include "experiments/attention_kernels.hpp"
#include "kernels/abi/kernel_call.hpp"
#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::experiments {
namespace {

using kernels::call_of;
using kernels::CallTensor;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A size of this process, in bytes, by its name in /proc/self/status (VmRSS, VmHWM); 0 if it is missing.
std::int64_t memory_in_status(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

// From here on VmHWM is the most that the process holds.
void forget_most_memory() { std::ofstream("/proc/self/clear_refs") << '5'; }

// A call could use memory that the process has freed but kept, and it would not be measured.
void give_back_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

using Numbers = std::vector<float>;

// Logits in [0, 16), the same in every run: nothing underflows, so that no item is cheaper than another.
Numbers drawn(std::int64_t count, std::uint32_t seed) {
  Numbers values(static_cast<std::size_t>(count));
  std::uint32_t state = seed;
  for (float& x : values) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 8) * 0x1p-20F;
  }
  return values;
}

void run(softcheck_kernel kernel, const std::string& name, std::span<const DLTensor* const> inputs, DLTensor* output,
         double scale = 1) {
  const std::array<DLTensor*, 1> outputs{output};
  const softcheck_call call = call_of(inputs, outputs, scale);
  if (kernel(&call) != 0) throw std::runtime_error("the kernel " + name + " refused a call");
}

// The cost of a pass that only reads: eight sums, so that additions do not wait for one another.
float sum_of(const Numbers& values) {
  std::array<float, 8> sums{};
  for (std::size_t i = 0; i + 8 <= values.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += values[i + lane];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

// A result that is stored here has been computed.
volatile float read_result;

std::string symbol_of(const char* kernel) {
  std::string symbol = std::string("softcheck_") + kernel;
  std::ranges::replace(symbol, ' ', '_');
  return symbol;
}

struct Measurement {
  const KernelLibrary& kernels;
  const GrowthOptions& options;
  std::vector<GrowthPoint>& points;

  void add(const std::string& kernel, std::int64_t items, const std::function<void()>& call) const {
    options.progress(fmt::format("{} items: {}", items, kernel));
    points.push_back({kernel, items, cost_of(call, options.rounds, options.round_seconds)});
  }

  void rows(std::int64_t n) const {
    const Numbers logits = drawn(n, 1);
    Numbers probabilities(logits.size(), 1), entropy(1);
    CallTensor row(logits.data(), {1, n}), each(probabilities.data(), {1, n}), one(entropy.data(), {1});
    const std::array<const DLTensor*, 1> inputs{row.get()};
    add("read of a row", n, [&] { read_result = sum_of(logits); });
    for (const auto& [name, output] : {std::pair{"softmax", &each}, {"entropy", &one}, {"adaptive softmax", &each}}) {
      const std::string symbol = symbol_of(name);
      const softcheck_kernel kernel = kernels.kernel(symbol.c_str());
      DLTensor* const to = output->get();
      add(name, n, [&] { run(kernel, symbol, inputs, to); });
    }
  }

  void queries(std::int64_t n) const {
    const std::int64_t d = options.width;
    const Numbers query = drawn(d, 1), keys = drawn(n * d, 2), values = drawn(n * d, 3);
    Numbers pooled(query.size());
    CallTensor q(query.data(), {1, 1, 1, d}), k(keys.data(), {1, 1, n, d}), v(values.data(), {1, 1, n, d});
    CallTensor out(pooled.data(), {1, 1, 1, d});
    const std::array<const DLTensor*, 3> inputs{q.get(), k.get(), v.get()};
    add("read of keys and values", n, [&] { read_result = sum_of(keys) + sum_of(values); });
    for (const char* name : {"attention", "adaptive attention"}) {
      const std::string symbol = symbol_of(name);
      const softcheck_kernel kernel = kernels.kernel(symbol.c_str());
      add(name, n,
          [&] { run(kernel, symbol, inputs, out.get(), 1.0 / static_cast<double>(16 * d)); });  // scores in [0, 16)
    }
  }
};

std::vector<GrowthPoint> of_kernel(const std::vector<GrowthPoint>& points, const std::string& kernel) {
  std::vector<GrowthPoint> own;
  std::ranges::copy_if(points, std::back_inserter(own), [&](const GrowthPoint& p) { return p.kernel == kernel; });
  std::ranges::sort(own, {}, &GrowthPoint::items);
  return own;
}

// In the order in which they were measured.
std::vector<std::string> kernels_in(const std::vector<GrowthPoint>& points) {
  std::vector<std::string> names;
  for (const GrowthPoint& point : points) {
    if (std::ranges::find(names, point.kernel) == names.end()) names.push_back(point.kernel);
  }
  return names;
}

}  // namespace

CallCost cost_of(const std::function<void()>& call, int rounds, double round_seconds) {
  CallCost cost{std::numeric_limits<double>::infinity(), 0};
  give_back_free_memory();
  const std::int64_t before = memory_in_status("VmRSS");
  forget_most_memory();
  const double first = thread_seconds();
  call();
  const double once = thread_seconds() - first;
  cost.bytes = std::max<std::int64_t>(0, memory_in_status("VmHWM") - before);
  const auto calls = static_cast<std::int64_t>(std::clamp(std::ceil(round_seconds / std::max(once, 1e-9)), 1.0, 1e6));
  for (int round = 0; round < rounds; ++round) {
    const double start = thread_seconds();
    for (std::int64_t i = 0; i < calls; ++i) call();
    cost.seconds = std::min(cost.seconds, (thread_seconds() - start) / static_cast<double>(calls));
  }
  return cost;
}

std::vector<GrowthPoint> measure_growth(const std::filesystem::path& kernels, const GrowthOptions& options) {
  const KernelLibrary library(kernels);
  std::vector<GrowthPoint> points;
  const Measurement measurement{library, options, points};
  for (std::int64_t n = options.smallest; n <= options.largest; n *= 4) {
    measurement.rows(n);
    measurement.queries(n);
  }
  return points;
}

double growth_exponent(const std::vector<GrowthPoint>& points, const std::string& kernel, std::int64_t from) {
  std::vector<double> x, y;
  for (const GrowthPoint& point : of_kernel(points, kernel)) {
    if (point.items < from) continue;
    x.push_back(std::log(static_cast<double>(point.items)));
    y.push_back(std::log(point.cost.seconds));
  }
  if (x.size() < 2) {
    throw std::invalid_argument(
        fmt::format("growth_exponent: need two points of {} with at least {} items, got {}", kernel, from, x.size()));
  }
  const auto mean = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  };
  const double mean_x = mean(x), mean_y = mean(y);
  double above = 0, below = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above += (x[i] - mean_x) * (y[i] - mean_y);
    below += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return above / below;
}

std::string growth_table(const std::vector<GrowthPoint>& points) {
  const std::vector<std::string> names = kernels_in(points);
  std::string text = fmt::format("{:>10}", "items");
  for (const std::string& name : names) text += fmt::format("  {}", name);
  text += "   (ns an item)\n";
  for (const GrowthPoint& row : of_kernel(points, names.at(0))) {
    text += fmt::format("{:>10}", row.items);
    for (const std::string& name : names) {
      const std::vector<GrowthPoint> own = of_kernel(points, name);
      const auto point = std::ranges::find(own, row.items, &GrowthPoint::items);
      text += fmt::format("  {:>{}.3f}", point->nanoseconds_per_item(), name.size());
    }
    text += '\n';
  }
  for (const std::string& name : names) {
    const std::vector<GrowthPoint> own = of_kernel(points, name);
    if (own.size() < 2) continue;
    text += fmt::format(
        "{}: time grows as n^{:.3f}, at most {:.1f} MiB of memory beside the tensors\n", name,
        growth_exponent(points, name, own.front().items),
        static_cast<double>(std::ranges::max(own, {}, [](const GrowthPoint& p) { return p.cost.bytes; }).cost.bytes) /
            (1 << 20));
  }
  return text;
}

Figure growth_figure(const std::vector<GrowthPoint>& points) {
  const std::vector<std::string> names = kernels_in(points);
  std::string table = "kernel,items,seconds,nanoseconds an item,bytes beside the tensors\n";
  std::string script =
      "set title 'Processor time of one row or one query, f32, one thread'\nset xlabel 'items n'\n"
      "set ylabel 'seconds'\nset logscale xy\nset format x '2^{%L}'\nset logscale x 2\nset format y '10^{%T}'\n"
      "set key bottom right spacing 1.3\n";
  std::string plots;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string block = "items,seconds\n";
    for (const GrowthPoint& point : of_kernel(points, names[i])) {
      block += fmt::format("{},{:.9g}\n", point.items, point.cost.seconds);
      table += fmt::format("{},{},{:.9g},{:.9g},{}\n", point.kernel, point.items, point.cost.seconds,
                           point.nanoseconds_per_item(), point.cost.bytes);
    }
    script += data_block(fmt::format("kernel{}", i), block);
    plots += fmt::format(
        "{}$kernel{} using 'items':'seconds' with linespoints pointtype 7 pointsize 0.5 linewidth 2 "
        "dashtype {} linecolor rgb '{}' title {}",
        i == 0 ? "plot " : ", ", i, names[i].starts_with("read") ? 2 : 1, code_of(static_cast<Colour>(i % 7)),
        quoted(names[i]));
  }
  return {{{"growth", table}}, {{"growth", 900, 560, script + plots + "\n"}}};
}

}  // namespace softcheck::experiments
