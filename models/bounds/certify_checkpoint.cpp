#include "models/bounds/certify_checkpoint.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace softcheck::models {

std::vector<std::optional<HeadCertificate>> certify_heads(const Checkpoint& checkpoint, const ModelDescription& model,
                                                          const CheckpointJob& job) {
  std::vector<std::optional<HeadCertificate>> certificates(job.heads.size());
  // Heads that share a key projection go to one thread, which folds it once.
  std::vector<std::pair<std::size_t, std::size_t>> groups;
  for (std::size_t i = 0; i < job.heads.size(); ++i) {
    const HeadDescription& head = *job.heads[i];
    if (i > 0 && head.layer == job.heads[i - 1]->layer && head.key_head == job.heads[i - 1]->key_head) {
      groups.back().second = i + 1;
    } else {
      groups.emplace_back(i, i + 1);
    }
  }
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    HeadReader reader(checkpoint);
    try {
      for (std::size_t group = next++; group < groups.size(); group = next++) {
        for (std::size_t i = groups[group].first; i < groups[group].second; ++i) {
          if (failed || (job.stop && job.stop())) return;
          HeadCertificate certificate = certify_head(*job.heads[i], model, reader, job.options);
          const std::lock_guard lock(mutex);
          if (job.done) job.done(i, certificate);
          certificates[i] = std::move(certificate);
        }
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < std::min<std::size_t>(job.threads, groups.size()); ++i) threads.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
  return certificates;
}

}  // namespace softcheck::models
