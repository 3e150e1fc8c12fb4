#pragma once

#include <mpi.h>

#include <deque>
#include <utility>

#include "kernels/parallel/communicator.hpp"

namespace softcheck::kernels::parallel {

/// Ranks that are the processes of MPI_COMM_WORLD. One thread of each uses it, between MPI_Init and MPI_Finalize. An
/// error of MPI ends all ranks, as is its default.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator();
  ~MpiCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  /// Throws std::length_error beyond the 2^31 - 1 bytes that MPI 3 counts.
  void send(int to, Message message) override;
  Message receive(int from) override;
  /// MPI_Allreduce with a non-commutative operation: MPI then combines only consecutive ranks, and a message needs room
  /// only for their nodes (most_nodes).
  Message reduced(Message own) override;

 private:
  void finish_sends();

  int rank_ = 0, size_ = 1;
  MPI_Op unite_ = MPI_OP_NULL;
  std::deque<std::pair<MPI_Request, Message>> sent_;  // messages that MPI may still read
};

}  // namespace softcheck::kernels::parallel
