#include "judge/survivors/survivor_matrix.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>

#include "judge/kernel_judge.hpp"

namespace softcheck::proptests {
namespace {

constexpr const char* judge_name = "softcheck";

// Softmax and its derived ops, gradients and losses, merges and routers, attention.
std::size_t order_of(const std::string& op) {
  constexpr const char* order[] = {"softmax",          "log_softmax",   "logsumexp",
                                   "softmax_backward", "cross_entropy", "cross_entropy_backward",
                                   "merge_states",     "topk_softmax"};
  return static_cast<std::size_t>(std::ranges::find(order, op) - std::begin(order));
}

std::string title_of(const ZooKernel& kernel) { return kernel.symbol + " " + kernel.op + " " + kernel.dtype; }

CriterionVerdict verdict_of(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::pass:
      return CriterionVerdict::accepted;
    case ReportVerdict::crash:
      return CriterionVerdict::crashed;
    case ReportVerdict::timeout:
      return CriterionVerdict::timed_out;
    case ReportVerdict::refused:
      return CriterionVerdict::refused;
    default:
      return CriterionVerdict::values;
  }
}

// Values in shared memory that the workers write and the parent reads.
template <class Value>
class Shared {
 public:
  explicit Shared(std::size_t size) : size_(size) {
    constexpr int access = PROT_READ | PROT_WRITE;
    void* memory = mmap(nullptr, bytes(), access, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "survivor_matrix: mmap");
    values_ = static_cast<Value*>(memory);
  }
  ~Shared() { munmap(values_, bytes()); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::span<Value> values() const { return {values_, size_}; }

 private:
  std::size_t bytes() const { return std::max<std::size_t>(size_, 1) * sizeof(Value); }
  std::size_t size_;
  Value* values_;
};

constexpr std::size_t message_size = 512;

class Matrix {
 public:
  Matrix(std::vector<Criterion> criteria, const std::vector<ZooKernel>& zoo, const SurvivorOptions& options)
      : zoo_(zoo),
        options_(options),
        workers_(options.workers > 0 ? options.workers : std::clamp(std::thread::hardware_concurrency(), 1U, 4U)) {
    matrix_.criteria = std::move(criteria);
    choose_kernels();
    const std::size_t count = matrix_.criteria.size();
    verdicts_.emplace((count + 1) * matrix_.kernels.size());
    cases_.emplace(count);
    uncounted_.emplace(count * workers_);
    message_.emplace(message_size * workers_);
  }

  // Each worker takes every n-th kernel. A kernel's verdict does not depend on what its process did before.
  void fill() {
    std::vector<pid_t> children;
    for (unsigned worker = 0; worker < workers_; ++worker) {
      const pid_t child = fork();
      if (child < 0) throw std::system_error(errno, std::generic_category(), "survivor_matrix: fork");
      if (child == 0) _exit(work(worker));
      children.push_back(child);
    }
    std::string failure;
    for (unsigned worker = 0; worker < workers_; ++worker) {
      int status = 0;
      while (waitpid(children[worker], &status, 0) < 0 && errno == EINTR) {
      }
      if (status == 0) continue;
      const char* message = message_->values().data() + message_size * worker;
      failure = *message != '\0' ? message : "a worker died (wait status " + std::to_string(status) + ")";
    }
    if (!failure.empty()) throw std::runtime_error("survivor_matrix: " + failure);
  }

  SurvivorMatrix take() {
    const std::size_t count = matrix_.criteria.size();
    const std::size_t kernels = matrix_.kernels.size();
    for (std::size_t c = 0; c <= count; ++c) {
      const auto row = verdicts_->values().subspan(c * kernels, kernels);
      SurvivorLine line{c < count ? matrix_.criteria[c].name : judge_name, {row.begin(), row.end()}};
      for (unsigned worker = 0; worker < workers_ && c < count; ++worker) {
        line.cases = cases_->values()[c];
        line.uncounted_cases = std::max(line.uncounted_cases, uncounted_->values()[worker * count + c]);
      }
      matrix_.lines.push_back(std::move(line));
    }
    sort();
    return std::move(matrix_);
  }

 private:
  int work(unsigned worker) noexcept {
    try {
      std::vector<std::size_t> mine;
      for (std::size_t i = worker; i < matrix_.kernels.size(); i += workers_) mine.push_back(i);
      std::vector<bool> hangs(matrix_.kernels.size());
      std::vector<bool> probed(matrix_.kernels.size());
      for (std::size_t c = 0; c < matrix_.criteria.size(); ++c) {
        CriterionRun run(matrix_.criteria[c], {zoo_, options_.folder, options_.seed, options_.seconds_per_call});
        for (const std::size_t i : mine) {
          const ZooKernel& kernel = matrix_.kernels[i];
          CriterionVerdict& verdict = verdicts_->values()[c * matrix_.kernels.size() + i];
          verdict = CriterionVerdict::not_applicable;
          if (!applies(matrix_.criteria[c], kernel, zoo_)) continue;
          tell(worker, matrix_.criteria[c].name + ": " + title_of(kernel));
          if (!probed[i]) hangs[i] = run.hangs(kernel);
          probed[i] = true;
          verdict = hangs[i] ? CriterionVerdict::timed_out : run.verdict(kernel);
        }
        cases_->values()[c] = run.cases();
        uncounted_->values()[worker * matrix_.criteria.size() + c] = run.uncounted_cases();
      }
      for (const std::size_t i : mine) {
        tell(worker, std::string(judge_name) + ": " + title_of(matrix_.kernels[i]));
        verdicts_->values()[matrix_.criteria.size() * matrix_.kernels.size() + i] =
            options_.judged ? judge(matrix_.kernels[i]) : CriterionVerdict::not_applicable;
      }
      return 0;
    } catch (const std::exception& error) {
      std::snprintf(message_->values().data() + message_size * worker, message_size, "%s", error.what());
      return 1;
    }
  }

  CriterionVerdict judge(const ZooKernel& kernel) const {
    JudgeOptions options = judge_options_of(kernel, options_.effort);
    options.run.seed = options_.seed;
    options.run.shrinks = 0;  // only the verdict matters
    options.limits.seconds_per_call = options_.seconds_per_call;
    return verdict_of(judge_kernel(subject_of(kernel, options_.folder), options).verdict);
  }

  void tell(unsigned worker, const std::string& text) const {
    if (worker == 0 && options_.progress) options_.progress(text);
  }

  void choose_kernels() {
    for (const ZooKernel& row : zoo_) {
      if (row.kind() != ZooKernelKind::neither) {
        matrix_.kernels.push_back(row);
      } else {
        matrix_.left_out.push_back(title_of(row) + (row.require == "-" ? "" : ", " + row.require));
      }
    }
    // "C10" after "C9": by length, then alphabetically.
    std::ranges::stable_sort(matrix_.kernels, {}, [](const ZooKernel& row) {
      return std::tuple(row.kind(), row.bug_class.front() != 'C', row.bug_class.size(), row.bug_class, order_of(row.op),
                        row.op);
    });
  }

  // Checkers last; by op; within an op the criteria that accept the largest share of the bugs first.
  void sort() {
    std::vector<std::size_t> order(matrix_.criteria.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      const SurvivorLine::Count left = matrix_.count(matrix_.lines[a], ZooKernelKind::bug);
      const SurvivorLine::Count right = matrix_.count(matrix_.lines[b], ZooKernelKind::bug);
      const Criterion &first = matrix_.criteria[a], &second = matrix_.criteria[b];
      return std::tuple(first.checker, order_of(first.op), right.accepted * left.applicable) <
             std::tuple(second.checker, order_of(second.op), left.accepted * right.applicable);
    });
    std::vector<Criterion> criteria;
    std::vector<SurvivorLine> lines;
    for (const std::size_t index : order) {
      criteria.push_back(std::move(matrix_.criteria[index]));
      lines.push_back(std::move(matrix_.lines[index]));
    }
    lines.push_back(std::move(matrix_.lines.back()));
    matrix_.criteria = std::move(criteria);
    matrix_.lines = std::move(lines);
  }

  const std::vector<ZooKernel>& zoo_;
  const SurvivorOptions& options_;
  unsigned workers_;
  SurvivorMatrix matrix_;
  std::optional<Shared<CriterionVerdict>> verdicts_;  // (criteria and the judge, kernels)
  std::optional<Shared<std::size_t>> cases_;          // (criteria)
  std::optional<Shared<std::size_t>> uncounted_;      // (workers, criteria)
  std::optional<Shared<char>> message_;               // (workers, message_size): the error of a failed worker
};

}  // namespace

SurvivorLine::Count SurvivorMatrix::count(const SurvivorLine& line, ZooKernelKind kind) const {
  SurvivorLine::Count count;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].kind() != kind || line.verdicts[i] == CriterionVerdict::not_applicable) continue;
    ++count.applicable;
    count.accepted += line.verdicts[i] == CriterionVerdict::accepted;
  }
  return count;
}

SurvivorMatrix SurvivorMatrix::of(std::string_view op, numerics::Format format) const {
  SurvivorMatrix part{.criteria = {}, .kernels = kernels, .lines = {}, .left_out = {}};
  for (std::size_t i = 0; i < criteria.size(); ++i) {
    if (criteria[i].op != op || criteria[i].format != format) continue;
    part.criteria.push_back(criteria[i]);
    part.lines.push_back(lines[i]);
  }
  part.lines.push_back(lines.back());
  return part;
}

bool SurvivorMatrix::judge_is_right() const {
  const SurvivorLine::Count bugs = count(lines.back(), ZooKernelKind::bug);
  const SurvivorLine::Count correct = count(lines.back(), ZooKernelKind::correct);
  return bugs.accepted == 0 && correct.accepted == correct.applicable;
}

SurvivorMatrix survivor_matrix(std::vector<Criterion> criteria, const std::vector<ZooKernel>& zoo,
                               const SurvivorOptions& options) {
  Matrix matrix(std::move(criteria), zoo, options);
  matrix.fill();
  return matrix.take();
}

}  // namespace softcheck::proptests
