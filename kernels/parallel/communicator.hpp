#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace softcheck::kernels::parallel {

using Message = std::vector<std::byte>;

/// The messages that a rank has sent, and its time for sending and waiting.
struct Traffic {
  std::uint64_t messages = 0, bytes = 0;
  double seconds = 0;
};

/// A rank's view of all ranks: MpiCommunicator of processes, ThreadCommunicator of threads in one process. Messages
/// from one rank to another arrive in the order in which they were sent.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// May return before the other rank receives.
  virtual void send(int to, Message message) = 0;
  virtual Message receive(int from) = 0;
  /// The forests of all ranks united (unite_messages), in every rank. Their messages have one size. The order and
  /// bracketing in which they are combined are not defined, and do not change the bits.
  virtual Message reduced(Message own) = 0;

  const Traffic& traffic() const { return traffic_; }

 protected:
  Traffic traffic_;
};

}  // namespace softcheck::kernels::parallel
