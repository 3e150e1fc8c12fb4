#include "experiments/evaluation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "experiments/network_lane.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

constexpr int items_at_once = 512;  // of an encoding: its matrices stay in the second-level cache
constexpr std::int64_t task_items = 1 << 15;

void check(const Floats& parameters, const EvaluationOptions& options) {
  const bool sizes = std::all_of(options.sizes.begin(), options.sizes.end(), [](int size) { return size >= 1; });
  if (!sizes || options.sets < 1 || options.items < 1 || options.threads < 1 || parameters.size() != parameter_count) {
    throw std::invalid_argument("evaluate: need sizes, sets, items and threads >= 1 and " +
                                std::to_string(parameter_count) + " parameters, got " +
                                std::to_string(parameters.size()));
  }
}

// Each task has its own random words, so that no task waits for another and none depends on the number of threads.
RandomWords words_of(std::uint64_t seed, std::uint64_t stream, int size, int first) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed),   static_cast<std::uint32_t>(seed >> 32),
                         static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32),
                         static_cast<std::uint32_t>(size),   static_cast<std::uint32_t>(first)};
  return RandomWords(sequence);
}

// In 16 sums side by side, which a compiler can vectorise without changing their order.
float dot(const float* a, const float* b) {
  std::array<float, 16> sums{};
  for (std::size_t d = 0; d < width; d += sums.size()) {
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a[d + j] * b[d + j];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

int class_of(std::span<const float> scores) {
  return static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// Sets [first, first + count) of one size.
struct Task {
  std::size_t size_index = 0;
  int first = 0;
  int count = 0;
};

std::vector<Task> tasks_of(const EvaluationOptions& options) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < options.sizes.size(); ++i) {
    const int sets = sets_of_size(options, options.sizes[i]);
    const int step = static_cast<int>(std::max<std::int64_t>(1, task_items / options.sizes[i]));
    for (int first = 0; first < sets; first += step) tasks.push_back({i, first, std::min(step, sets - first)});
  }
  // The longest first: the threads then end together.
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) {
    return std::int64_t{a.count} * options.sizes[a.size_index] > std::int64_t{b.count} * options.sizes[b.size_index];
  });
  return tasks;
}

// One thread's work; tasks reuse its arrays.
class Evaluator {
 public:
  Evaluator(const Floats& parameters, std::uint64_t stream, const AttentionKernels* kernels,
            const EvaluationOptions& options)
      : parameters_(parameters), stream_(stream), kernels_(kernels), options_(options) {}

  void measure(const Task& task, SizeMeasure& result) {
    RandomWords words = words_of(options_.seed, stream_, result.size, task.first);
    sets_ = draw_sets(result.size, task.count, words);
    encoded_.resize(sets_.items.size() / item_features * width);
    encode(parameters_, sets_.items, encoded_);
    queries_ = fold(parameters_, sets_.queries);
    logits_.resize(encoded_.size() / width);
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      const float* const query = &queries_.vectors[i / static_cast<std::size_t>(result.size) * width];
      logits_[i] = dot(&encoded_[i * width], query);
    }
    for (int s = 0; s < task.count; ++s) {
      const auto [least, most] = std::ranges::minmax(logits_of(s));
      result.spreads[static_cast<std::size_t>(task.first + s)] = most - least;
    }
    if (kernels_ != nullptr) by_kernels(task, result);
    const std::size_t before = result.heads.size() - options_.others.size();
    for (std::size_t h = 0; h < options_.others.size(); ++h) {
      by_coefficients(task, options_.others[h], result.heads[before + h]);
    }
  }

 private:
  std::span<const float> logits_of(int set) const {
    const auto size = static_cast<std::size_t>(sets_.size);
    return std::span(logits_).subspan(static_cast<std::size_t>(set) * size, size);
  }

  void by_kernels(const Task& task, SizeMeasure& result) {
    const auto count = static_cast<std::size_t>(task.count);
    pooled_.resize(count * width);
    log_sums_.resize(count);
    entropies_.resize(count);
    kernels_->attend(task.count, sets_.size, encoded_.data(), queries_.vectors.data(), pooled_.data(), log_sums_.data(),
                     entropies_.data());
    const std::vector<float> plain = entropies_;
    store(task, result.heads[0], [](float) { return 1.0; });
    kernels_->attend_adaptively(task.count, sets_.size, encoded_.data(), queries_.vectors.data(), pooled_.data(),
                                log_sums_.data(), entropies_.data());
    std::size_t next = 0;
    store(task, result.heads[1], [&](float) { return theory::inverse_temperature<double>(plain[next++]); });
  }

  // Calls beta_of once for each set, in order: the largest coefficient is exp(beta max - lse).
  template <class BetaOf>
  void store(const Task& task, std::vector<HeadMeasure>& measures, BetaOf beta_of) {
    score();
    for (int s = 0; s < task.count; ++s) {
      const auto i = static_cast<std::size_t>(s);
      HeadMeasure& measure = measures[static_cast<std::size_t>(task.first + s)];
      const double largest = std::ranges::max(logits_of(s));
      measure.correct = is_correct(s);
      measure.entropy = entropies_[i];
      measure.largest = static_cast<float>(std::exp(beta_of(entropies_[i]) * largest - log_sums_[i]));
    }
  }

  void by_coefficients(const Task& task, const Head& head, std::vector<HeadMeasure>& measures) {
    coefficients_.resize(static_cast<std::size_t>(sets_.size));
    pooled_.assign(static_cast<std::size_t>(task.count) * width, 0);
    for (int s = 0; s < task.count; ++s) {
      head.coefficients(logits_of(s), queries_.offsets[static_cast<std::size_t>(s)], coefficients_);
      double entropy = 0, largest = 0;
      float* const pooled = &pooled_[static_cast<std::size_t>(s) * width];
      const float* item = &encoded_[static_cast<std::size_t>(s) * coefficients_.size() * width];
      for (const float alpha : coefficients_) {
        if (alpha != 0) entropy -= std::fabs(alpha) * std::log(std::fabs(static_cast<double>(alpha)));
        largest = std::max(largest, std::fabs(static_cast<double>(alpha)));
        for (std::size_t d = 0; d < width; ++d) pooled[d] += alpha * item[d];
        item += width;
      }
      HeadMeasure& measure = measures[static_cast<std::size_t>(task.first + s)];
      measure.entropy = static_cast<float>(entropy);
      measure.largest = static_cast<float>(largest);
    }
    score();
    for (int s = 0; s < task.count; ++s) measures[static_cast<std::size_t>(task.first + s)].correct = is_correct(s);
  }

  void score() {
    scores_.resize(pooled_.size() / width * class_count);
    network_lane().score_classes(parameters_.data(), static_cast<int>(pooled_.size() / width), pooled_.data(),
                                 scores_.data());
  }

  bool is_correct(int set) const {
    const auto i = static_cast<std::size_t>(set);
    return class_of(std::span(scores_).subspan(i * class_count, class_count)) == sets_.targets[i];
  }

  const Floats& parameters_;
  std::uint64_t stream_;
  const AttentionKernels* kernels_;
  const EvaluationOptions& options_;
  RetrievalSets sets_;
  FoldedQueries queries_;
  Floats encoded_, pooled_, scores_, coefficients_;
  std::vector<float> logits_, log_sums_, entropies_;
};

}  // namespace

int sets_of_size(const EvaluationOptions& options, int size) {
  return static_cast<int>(std::clamp<std::int64_t>(options.items / size, 1, options.sets));
}

void encode(const Floats& parameters, std::span<const float> items, std::span<float> encoded) {
  // Copies begin at multiples of 64 bytes, whatever the items' addresses are.
  thread_local Floats in, out;
  in.resize(static_cast<std::size_t>(items_at_once) * item_features);
  out.resize(static_cast<std::size_t>(items_at_once) * width);
  const std::size_t count = items.size() / item_features;
  for (std::size_t first = 0; first < count; first += items_at_once) {
    const std::size_t step = std::min<std::size_t>(items_at_once, count - first);
    std::ranges::copy(items.subspan(first * item_features, step * item_features), in.begin());
    network_lane().encode_items(parameters.data(), static_cast<int>(step), in.data(), out.data());
    std::copy_n(out.begin(), step * width, encoded.begin() + static_cast<std::ptrdiff_t>(first * width));
  }
}

FoldedQueries fold(const Floats& parameters, std::span<const float> queries) {
  const Floats aligned(queries.begin(), queries.end());
  FoldedQueries result{Floats(queries.size() * width), std::vector<float>(queries.size())};
  network_lane().fold_queries(parameters.data(), static_cast<int>(queries.size()), aligned.data(),
                              result.vectors.data(), result.offsets.data());
  return result;
}

namespace {

// The heads of the kernels first, where there are kernels.
std::vector<SizeMeasure> measured(const Floats& parameters, std::uint64_t stream, const AttentionKernels* kernels,
                                  const EvaluationOptions& options, const std::function<bool(double)>& progress) {
  check(parameters, options);
  std::vector<SizeMeasure> results;
  for (const int size : options.sizes) {
    const auto sets = static_cast<std::size_t>(sets_of_size(options, size));
    results.push_back({size, std::vector<float>(sets), {}});
    results.back().heads.assign((kernels != nullptr ? 2 : 0) + options.others.size(), std::vector<HeadMeasure>(sets));
  }
  const std::vector<Task> tasks = tasks_of(options);
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Evaluator evaluator(parameters, stream, kernels, options);
      for (std::size_t i = next++; i < tasks.size(); i = next++) {
        evaluator.measure(tasks[i], results[tasks[i].size_index]);
        const std::lock_guard lock(mutex);
        const double done =
            static_cast<double>(std::min(next.load(), tasks.size())) / static_cast<double>(tasks.size());
        if (progress && !progress(done)) next = tasks.size();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = tasks.size();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < options.threads; ++t) others.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return results;
}

}  // namespace

std::vector<SizeMeasure> evaluate(const Floats& parameters, std::uint64_t stream, const AttentionKernels& kernels,
                                  const EvaluationOptions& options, const std::function<bool(double)>& progress) {
  return measured(parameters, stream, &kernels, options, progress);
}

std::vector<SizeMeasure> evaluate_heads(const Floats& parameters, std::uint64_t stream,
                                        const EvaluationOptions& options, const std::function<bool(double)>& progress) {
  return measured(parameters, stream, nullptr, options, progress);
}

}  // namespace softcheck::experiments
