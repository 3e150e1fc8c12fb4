// The findings of a launch in which no thread can go on: which threads wait, at which line, and for which threads.
#include <algorithm>
#include <string>
#include <utility>

#include "kernels/block/context.hpp"
#include "kernels/emulator/machine.hpp"

namespace softcheck::kernels::emulator {

// "threads 0-31, 40" of those that chosen(rank) holds for.
template <class Chosen>
std::string Machine::ranks(Chosen chosen) const {
  std::string text;
  int count = 0;
  for (int rank = 0; rank < threads(); ++rank) {
    if (!chosen(rank)) continue;
    int last = rank;
    while (last + 1 < threads() && chosen(last + 1)) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(rank) + (last > rank ? "-" + std::to_string(last) : "");
    count += last - rank + 1;
    rank = last;
  }
  return (count == 1 ? "thread " : "threads ") + text;
}

std::string Machine::doing(int rank) const {
  const Thread& thread = threads_[static_cast<std::size_t>(rank)];
  switch (thread.state) {
    case State::at_barrier:
      return "in sync at " + to_string(thread.last);
    case State::at_cluster:
      return "in sync_cluster at " + to_string(thread.last);
    case State::at_counter:
      return "in wait_for at " + to_string(thread.last);
    case State::at_warp:
      return std::string("in ") + to_string(thread.operation.call) + " at " + to_string(thread.last);
    case State::done:
      return thread.last.line == 0 ? "left the kernel at once"
                                   : "left the kernel, last seen at " + to_string(thread.last);
    case State::ready:
      break;
  }
  return "runs, last seen at " + to_string(thread.last);
}

// Groups of threads that do the same at the same line, the largest first.
Finding Machine::stuck_barrier() const {
  struct Group {
    int first;
    int count;
  };
  std::vector<Group> groups;
  const auto same = [&](int left, int right) {
    const Thread& a = threads_[static_cast<std::size_t>(left)];
    const Thread& b = threads_[static_cast<std::size_t>(right)];
    return a.state == b.state && a.last == b.last;
  };
  for (int rank = 0; rank < threads(); ++rank) {
    const auto group = std::ranges::find_if(groups, [&](const Group& one) { return same(one.first, rank); });
    if (group == groups.end()) {
      groups.push_back({rank, 1});
    } else {
      ++group->count;
    }
  }
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) { return a.count > b.count; });
  Finding finding{FindingKind::divergent_barrier, "block " + std::to_string(block_) + ":", {}};
  for (const Group& group : groups) {
    finding.message += (group.first == groups.front().first ? " " : "; ") +
                       ranks([&](int rank) { return same(group.first, rank); }) + " " + doing(group.first);
    const Thread& thread = threads_[static_cast<std::size_t>(group.first)];
    // The line where a thread left is only a hint in the message; the lines at fault are those of waiting threads.
    if (thread.state != State::done) finding.lines.push_back(thread.last);
  }
  return finding;
}

Finding Machine::stuck_warp(int rank) const {
  const Thread& thread = threads_[static_cast<std::size_t>(rank)];
  const int first = rank / warp_size * warp_size;
  Finding finding{FindingKind::divergent_warp, "", {thread.last}};
  finding.message = to_string(thread.last) + ": lane " + std::to_string(rank % warp_size) + " of warp " +
                    std::to_string(rank / warp_size) + " waits in " + to_string(thread.operation.call) + " for ";
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((thread.operation.mask >> lane & 1U) == 0) continue;
    finding.message += "lane " + std::to_string(lane);
    if (first + lane >= threads()) {
      finding.message += ", which the block does not have: it has " + std::to_string(shape_.threads) + " threads";
      return finding;
    }
    const Thread& other = threads_[static_cast<std::size_t>(first + lane)];
    const bool there = other.state == State::at_warp && other.operation.call == thread.operation.call &&
                       other.operation.mask == thread.operation.mask;
    if (there) {
      finding.message.erase(finding.message.rfind("lane "));
      continue;
    }
    finding.message += ": " + doing(first + lane);
    if (other.state == State::at_warp && other.operation.mask != thread.operation.mask) {
      finding.message += " with another mask";
    }
    if (other.state != State::done) finding.lines.push_back(other.last);
    return finding;
  }
  return finding;
}

void Machine::report_stuck() {
  const auto in_warp =
      std::ranges::find_if(threads_, [](const Thread& thread) { return thread.state == State::at_warp; });
  findings_.add(in_warp == threads_.end() ? stuck_barrier() : stuck_warp(static_cast<int>(in_warp - threads_.begin())));
  abandoned_ = true;
}

}  // namespace softcheck::kernels::emulator
