#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "kernels/parallel/communicator.hpp"

namespace softcheck::kernels::parallel {

/// What ranks that are threads of one process share.
class ThreadGroup {
 public:
  explicit ThreadGroup(int size)
      : size_(size),
        message_for_(static_cast<std::size_t>(size)),
        boxes_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}

  int size() const { return size_; }
  void put(int from, int to, Message message);
  /// Waits for the message. Throws std::runtime_error if a rank has failed.
  Message take(int from, int to);
  /// Combines in the order in which the ranks arrive. Throws as take.
  Message reduced(Message own);
  /// Lets all waiting ranks fail.
  void fail();

 private:
  void require_success() const;

  int size_;
  std::mutex mutex_;
  std::condition_variable reduction_;
  // One for each rank: a message wakes the rank that it is for, and no other.
  std::vector<std::condition_variable> message_for_;
  std::vector<std::deque<Message>> boxes_;
  Message sum_;  // of the current reduction, or of the last one
  int arrived_ = 0, left_ = 0;
  bool failed_ = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.size(); }
  void send(int to, Message message) override;
  Message receive(int from) override { return group_.take(from, rank_); }
  Message reduced(Message own) override;

 private:
  ThreadGroup& group_;
  int rank_;
};

/// Runs each(communicator) for every rank, rank 0 in the calling thread and a thread for each of the others. Returns
/// whether no rank has thrown.
bool run_ranks(int ranks, const std::function<void(Communicator&)>& each);

}  // namespace softcheck::kernels::parallel
