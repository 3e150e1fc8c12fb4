// softcheck run growth: time and memory of our kernels for a row, or a query, of n items, as a table and a picture.
#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_parts.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/cost_growth.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

struct GrowthFlags {
  std::string out = "results/growth";
  GrowthOptions options;
};

// The memory of a point is that of its keys, values, logits and coefficients; a fifth is left to the system.
void require_memory(const GrowthOptions& options) {
  const double needed =
      static_cast<double>(options.largest) * static_cast<double>(2 * options.width + 2) * sizeof(float);
  const double has = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  constexpr double gib = 1 << 30;
  if (needed > 0.8 * has) {
    throw InputError(unsupported,
                     fmt::format("run growth: --largest {} needs {:.1f} GiB of memory, this machine has {:.1f}",
                                 options.largest, needed / gib, has / gib));
  }
}

int run_growth(GrowthFlags flags) {
  require_memory(flags.options);
  const OutputFolder folder(flags.out);
  std::vector<GrowthPoint> points;
  {
    Progress progress;
    flags.options.progress = [&](const std::string& text) { progress.show(text); };
    points = as_input_error<std::runtime_error>(unsupported, "run growth: ", [&] {
      return measure_growth(kernel_folder() / "libsoftcheck_cpu_kernels.so", flags.options);
    });
  }
  say("{}", growth_table(points));
  publish_figure(growth_figure(points), folder,
                 origin_lines(fmt::format("softcheck run growth --largest {} --width {} --rounds {}",
                                          flags.options.largest, flags.options.width, flags.options.rounds)));
  return holds;
}

}  // namespace

void add_growth_run(Verb run) {
  auto [growth, flags] = run.add_verb<GrowthFlags>(
      "growth", "Time and memory of our kernels against the length of a row, one thread", run_growth);
  growth.add_option("--largest", flags.options.largest, "Most items; they are 1024, 4096, ... up to it",
                    within<std::int64_t>(4096, 1LL << 30), shown);
  growth.add_option("--width", flags.options.width, "Width of attention's query, keys and values",
                    within(std::int64_t{1}, std::int64_t{1024}), shown);
  growth.add_option("--rounds", flags.options.rounds, "Rounds, of which the least time counts", within(1, 1000), shown);
  growth.add_option("--out", flags.out, "Folder for growth.csv, .svg and .png", typed("DIR"), shown);
}

}  // namespace softcheck::cli
