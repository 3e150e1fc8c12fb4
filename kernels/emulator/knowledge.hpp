#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace softcheck::kernels::emulator {

/// Which accesses by other blocks come before what follows.
struct Knowledge {
  std::vector<std::uint32_t> epochs;  // of each block: its accesses before that epoch
  std::vector<std::uint32_t> times;   // of each thread: its accesses up to that time of its lane

  Knowledge() = default;
  Knowledge(std::size_t blocks, std::size_t threads) : epochs(blocks), times(threads) {}

  void join(const Knowledge& other) {
    const auto later = [](std::uint32_t one, std::uint32_t two) { return std::max(one, two); };
    std::ranges::transform(epochs, other.epochs, epochs.begin(), later);
    std::ranges::transform(times, other.times, times.begin(), later);
  }
};

/// What the signals of each counter of global memory carry: the n-th one also carries that of all before it.
class Signals {
 public:
  void add(const std::uint32_t* counter, Knowledge knowledge) {
    std::vector<Knowledge>& all = counters_[counter];
    if (!all.empty()) knowledge.join(all.back());
    all.push_back(std::move(knowledge));
  }
  /// What a thread gets that waits for the counter to reach count: nothing of later signals, which another schedule
  /// would not have had yet. nullptr if it needed no signal.
  const Knowledge* needed(const std::uint32_t* counter, std::uint32_t count) const {
    const auto found = counters_.find(counter);
    if (found == counters_.end()) return nullptr;
    const auto& all = found->second;
    const std::uint32_t too_many = *counter - count;  // signals behind the one that count needs
    return too_many < all.size() ? &all[all.size() - 1 - too_many] : nullptr;
  }

 private:
  std::unordered_map<const std::uint32_t*, std::vector<Knowledge>> counters_;
};

}  // namespace softcheck::kernels::emulator
