// The time of a complete judgement of a correct kernel per op: processor seconds of the judge and of the kernel's
// processes, and their ratio to the goal. Goals for one idle core: 10 s for rows and attention at default effort, 15 s
// for attention's gradient, 2 s at quick.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/survivors/zoo_kernel.hpp"

namespace {

using namespace softcheck::proptests;

double goal_of(std::string_view op, Effort effort) {
  if (effort == Effort::quick) return 2;
  return op == "attention_backward" ? 15 : 10;
}

double processor_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
  }
  return seconds;
}

void judge_whole(benchmark::State& state, const ZooKernel& kernel, Effort effort) {
  KernelSubject subject = subject_of(kernel, SOFTCHECK_KERNEL_DIR);
  subject.required = {};
  for ([[maybe_unused]] auto iteration : state) {
    const double before = processor_seconds();
    const KernelJudgement judgement = judge_kernel(subject, judge_options(effort));
    const double seconds = processor_seconds() - before;
    state.SetIterationTime(seconds);
    state.counters["of_goal"] = seconds / goal_of(kernel.op, effort);
    state.counters["calls"] = static_cast<double>(judgement.calls);
    state.counters["rows"] = static_cast<double>(judgement.rows);
    state.SetLabel(summary_of(judgement));
  }
}

// The op's first kernel in the table that must pass in f32, without a restricted domain: ours, if we have one.
const ZooKernel& row_of(std::string_view op) {
  static const std::vector<ZooKernel> rows = read_zoo_kernels(SOFTCHECK_KERNEL_DIR "/ZOO.tsv");
  const auto row = std::ranges::find_if(rows, [&](const ZooKernel& each) {
    return each.op == op && each.dtype == "f32" && each.expected == "pass" && each.domain == "-";
  });
  if (row == rows.end()) throw std::runtime_error("judge_times: no row of " + std::string(op));
  return *row;
}

const int registered = [] {
  for (const Effort effort : {Effort::normal, Effort::quick}) {
    for (const Op op : all_ops()) {
      const ZooKernel& kernel = row_of(to_string(op));
      const std::string name = std::string(to_string(effort)) + "/" + kernel.op;
      benchmark::RegisterBenchmark(name.c_str(), judge_whole, kernel, effort)
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kSecond);
    }
  }
  return 0;
}();

}  // namespace

int main(int argc, char** argv) {
  // Like the command (cli/command.cpp).
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
