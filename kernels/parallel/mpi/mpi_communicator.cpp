#include "kernels/parallel/mpi/mpi_communicator.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>

#include "kernels/parallel/forest_message.hpp"

namespace softcheck::kernels::parallel {
namespace {

constexpr int any_tag = 0;

/// Adds the time of a scope.
class Stopwatch {
 public:
  explicit Stopwatch(double& seconds) : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point begin_;
};

int counted(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::length_error("MpiCommunicator: a message of more than 2^31 - 1 bytes");
  }
  return static_cast<int>(bytes);
}

/// MPI_User_function: an element is a whole message.
void unite_in_place(void* other, void* own, int* count, MPI_Datatype* type) {
  int size = 0;
  MPI_Type_size(*type, &size);
  const auto bytes = static_cast<std::size_t>(size);
  for (int i = 0; i < *count; ++i) {
    const std::size_t offset = static_cast<std::size_t>(i) * bytes;
    try {
      unite_messages(std::span(static_cast<const std::byte*>(other) + offset, bytes),
                     std::span(static_cast<std::byte*>(own) + offset, bytes));
    } catch (const std::exception& error) {  // no exception passes through MPI
      std::fprintf(stderr, "MPI_Op of state forests: %s\n", error.what());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

}  // namespace

MpiCommunicator::MpiCommunicator() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Op_create(unite_in_place, 0, &unite_);
}

MpiCommunicator::~MpiCommunicator() {
  finish_sends();
  MPI_Op_free(&unite_);
}

void MpiCommunicator::finish_sends() {
  for (auto& [request, message] : sent_) MPI_Wait(&request, MPI_STATUS_IGNORE);
  sent_.clear();
}

void MpiCommunicator::send(int to, Message message) {
  const Stopwatch watch(traffic_.seconds);
  ++traffic_.messages;
  traffic_.bytes += message.size();
  finish_sends();
  auto& [request, kept] = sent_.emplace_back(MPI_REQUEST_NULL, std::move(message));
  MPI_Isend(kept.data(), counted(kept.size()), MPI_BYTE, to, any_tag, MPI_COMM_WORLD, &request);
}

Message MpiCommunicator::receive(int from) {
  const Stopwatch watch(traffic_.seconds);
  MPI_Status status;
  MPI_Probe(from, any_tag, MPI_COMM_WORLD, &status);
  int size = 0;
  MPI_Get_count(&status, MPI_BYTE, &size);
  Message message(static_cast<std::size_t>(size));
  MPI_Recv(message.data(), size, MPI_BYTE, from, any_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return message;
}

Message MpiCommunicator::reduced(Message own) {
  const Stopwatch watch(traffic_.seconds);
  ++traffic_.messages;
  traffic_.bytes += own.size();
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(counted(own.size()), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  Message all(own.size());
  MPI_Allreduce(own.data(), all.data(), 1, type, unite_, MPI_COMM_WORLD);
  MPI_Type_free(&type);
  return all;
}

}  // namespace softcheck::kernels::parallel
