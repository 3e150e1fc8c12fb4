// A right kernel of each op, judged whole: the processor's seconds of the judge and of the kernel's processes, and
// their ratio to the goal. Goals are of one idle core: 10 s of rows and of attention at default effort, 15 s of its
// gradient, 2 s at quick.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <sys/resource.h>

#include <array>
#include <string>
#include <string_view>

#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"

namespace {

using namespace softcheck::proptests;

struct RightKernel {
  std::string_view library, symbol, op, contract;
};

constexpr std::array kernels{
    RightKernel{"zoo", "correct_two_pass", "softmax", "exp=1ulp sum=sequential masked=nan"},
    RightKernel{"zoo", "correct_log_softmax", "log_softmax", "exp=1ulp sum=sequential masked=nan"},
    RightKernel{"zoo", "correct_logsumexp", "logsumexp", "exp=1ulp sum=sequential masked=nan"},
    RightKernel{"zoo", "correct_entropy", "entropy", "exp=1ulp sum=sequential masked=nan"},
    RightKernel{"zoo", "correct_adaptive", "adaptive_softmax", "exp=1ulp sum=tree masked=nan entropy=exact"},
    RightKernel{"cpu_kernels", "softcheck_softmax_backward", "softmax_backward", "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_log_softmax_backward", "log_softmax_backward",
                "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_cross_entropy", "cross_entropy", "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_cross_entropy_backward", "cross_entropy_backward",
                "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_cross_entropy_mean", "cross_entropy_mean",
                "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_cross_entropy_mean_backward", "cross_entropy_mean_backward",
                "exp=1ulp sum=blocks:32 masked=nan"},
    RightKernel{"zoo", "correct_merge_states", "merge_states", "exp=1ulp sum=sequential masked=zero"},
    RightKernel{"cpu_kernels", "softcheck_topk_softmax", "topk_softmax",
                "exp=1ulp sum=blocks:32 masked=nan ties=lowest"},
    RightKernel{"zoo", "correct_top_p_softmax", "top_p_softmax", "exp=1ulp sum=sequential masked=nan ties=lowest"},
    RightKernel{"zoo", "correct_sparsemax", "sparsemax", "sum=sequential masked=nan"},
    RightKernel{"zoo", "correct_entmax15", "entmax15", "sum=sequential masked=nan"},
    RightKernel{"cpu_kernels", "softcheck_attention", "attention", "exp=1ulp sum=blocks:128 masked=zero entropy=exact"},
    RightKernel{"cpu_kernels", "softcheck_adaptive_attention", "adaptive_attention",
                "exp=1ulp sum=blocks:128 masked=zero entropy=exact"},
    RightKernel{"cpu_kernels", "softcheck_attention_backward", "attention_backward",
                "exp=1ulp sum=blocks:128 masked=zero"},
};

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

void judge_whole(benchmark::State& state, const RightKernel& kernel, Effort effort) {
  KernelSubject subject;
  subject.op = parse_op(kernel.op);
  subject.source = {std::string(SOFTCHECK_KERNEL_DIR) + "/libsoftcheck_" + std::string(kernel.library) + ".so",
                    std::string(kernel.symbol)};
  subject.contract = softcheck::numerics::parse_contract(kernel.contract, softcheck::numerics::Format::f32,
                                                         softcheck::numerics::Format::f32);
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

const int registered = [] {
  for (const Effort effort : {Effort::normal, Effort::quick}) {
    for (const RightKernel& kernel : kernels) {
      const std::string name = std::string(to_string(effort)) + "/" + std::string(kernel.op);
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
  // As the command does (cli/command.cpp).
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
