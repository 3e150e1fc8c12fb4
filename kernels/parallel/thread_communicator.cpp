#include "kernels/parallel/thread_communicator.hpp"

#include <atomic>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/parallel/forest_message.hpp"

namespace softcheck::kernels::parallel {

void ThreadGroup::require_success() const {
  if (failed_) throw std::runtime_error("a rank has failed");
}

void ThreadGroup::put(int from, int to, Message message) {
  const std::scoped_lock lock(mutex_);
  boxes_[static_cast<std::size_t>(from * size_ + to)].push_back(std::move(message));
  message_for_[static_cast<std::size_t>(to)].notify_one();
}

Message ThreadGroup::take(int from, int to) {
  std::unique_lock lock(mutex_);
  std::deque<Message>& box = boxes_[static_cast<std::size_t>(from * size_ + to)];
  message_for_[static_cast<std::size_t>(to)].wait(lock, [&] { return failed_ || !box.empty(); });
  require_success();
  Message message = std::move(box.front());
  box.pop_front();
  return message;
}

Message ThreadGroup::reduced(Message own) {
  std::unique_lock lock(mutex_);
  // Waits until all ranks have left the previous reduction.
  reduction_.wait(lock, [&] { return failed_ || left_ == 0; });
  require_success();
  if (arrived_ == 0) {
    sum_ = std::move(own);
  } else {
    sum_ = united_message(own, sum_);
  }
  if (++arrived_ == size_) {
    left_ = size_;
    reduction_.notify_all();
  }
  reduction_.wait(lock, [&] { return failed_ || left_ != 0; });
  require_success();
  if (--left_ == 0) {
    arrived_ = 0;
    reduction_.notify_all();
  }
  return sum_;
}

void ThreadGroup::fail() {
  const std::scoped_lock lock(mutex_);
  failed_ = true;
  reduction_.notify_all();
  for (std::condition_variable& arrived : message_for_) arrived.notify_one();
}

void ThreadCommunicator::send(int to, Message message) {
  ++traffic_.messages;
  traffic_.bytes += message.size();
  group_.put(rank_, to, std::move(message));
}

Message ThreadCommunicator::reduced(Message own) {
  ++traffic_.messages;
  traffic_.bytes += own.size();
  return group_.reduced(std::move(own));
}

bool run_ranks(int ranks, const std::function<void(Communicator&)>& each) {
  ThreadGroup group(ranks);
  std::atomic<bool> succeeded{true};
  const auto run = [&](int rank) {
    try {
      ThreadCommunicator communicator(group, rank);
      each(communicator);
    } catch (...) {
      succeeded = false;
      group.fail();
    }
  };
  std::vector<std::jthread> others;
  try {
    for (int rank = 1; rank < ranks; ++rank) others.emplace_back(run, rank);
  } catch (const std::system_error&) {  // no more threads to be had
    succeeded = false;
    group.fail();
  }
  if (succeeded) run(0);
  others.clear();
  return succeeded;
}

}  // namespace softcheck::kernels::parallel
