#include "models/forward/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <vector>

namespace softcheck::models {

void in_parallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) job(i);
  };
  std::vector<std::future<void>> others;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace softcheck::models
