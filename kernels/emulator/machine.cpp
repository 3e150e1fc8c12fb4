#include "kernels/emulator/machine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/block/context.hpp"
#include "kernels/emulator/block.hpp"

namespace softcheck::kernels::emulator {
namespace {

thread_local Machine* running_machine = nullptr;

struct Running {
  explicit Running(Machine& machine) { running_machine = &machine; }
  ~Running() { running_machine = nullptr; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

}  // namespace

Machine* Machine::running() { return running_machine; }

Machine::Machine(const LaunchShape& shape, const LaunchOptions& options, const Kernel& kernel)
    : shape_(shape),
      options_(options),
      kernel_(kernel),
      shared_(shape.shared_bytes, findings_),
      traced_(options.traced, findings_),
      threads_(static_cast<std::size_t>(shape.threads)),
      fibers_(fibers(threads_.size())),
      random_(options.seed) {
  for (int rank = 0; rank < shape.threads; ++rank) jobs_.emplace_back([this, rank] { run_thread(rank); });
}

LaunchReport Machine::run() {
  const Running here(*this);
  std::vector<std::int64_t> order(static_cast<std::size_t>(shape_.blocks));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  if (options_.schedule == Schedule::reverse) std::ranges::reverse(order);
  if (options_.schedule == Schedule::random) std::ranges::shuffle(order, random_);
  for (const std::int64_t block : order) {
    run_block(block);
    if (thrown_) std::rethrow_exception(thrown_);
    if (abandoned_) break;
  }
  report_.findings = findings_.all();
  return std::move(report_);
}

void Machine::run_thread(int rank) {
  try {
    if (abandoned_) throw LaunchAbandoned();
    Block block(*this, rank);
    kernel_(block);
  } catch (const LaunchAbandoned&) {
  } catch (...) {
    if (!thrown_) thrown_ = std::current_exception();
    abandoned_ = true;
  }
  threads_[static_cast<std::size_t>(rank)].state = State::done;
  ++left_;
}

void Machine::run_block(std::int64_t block) {
  block_ = block;
  waiting_at_barrier_ = left_ = 0;
  shared_.begin_block(++epoch_);
  traced_.begin_block(epoch_);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i] = Thread{};
    threads_[i].state = State::ready;
    fibers_[i]->start(jobs_[i]);
  }
  current_ = options_.schedule == Schedule::reverse ? 0 : shape_.threads - 1;
  while (left_ < shape_.threads) {
    const int next = next_thread();
    if (next < 0) {
      report_stuck();
      continue;
    }
    report_.switches += next != current_;
    current_ = next;
    fibers_[static_cast<std::size_t>(next)]->resume();
  }
}

// The thread that runs next; -1 if none can. After a finding that ends the launch all can run: they leave.
int Machine::next_thread() {
  const auto able = [&](int rank) {
    const State state = threads_[static_cast<std::size_t>(rank)].state;
    return state == State::ready || (abandoned_ && state != State::done);
  };
  if (options_.schedule == Schedule::greedy && able(current_)) return current_;
  const int step = options_.schedule == Schedule::reverse ? shape_.threads - 1 : 1;
  int rank = current_;
  if (options_.schedule == Schedule::random) rank = static_cast<int>(random_() % threads_.size());
  for (int tried = 0; tried < shape_.threads; ++tried) {
    rank = (rank + step) % shape_.threads;
    if (able(rank)) return rank;
  }
  return -1;
}

// Another thread's turn, until this one is ready again.
void Machine::wait(int rank, State state) {
  Thread& thread = threads_[static_cast<std::size_t>(rank)];
  thread.state = state;
  fibers_[static_cast<std::size_t>(rank)]->pause();
  if (abandoned_) throw LaunchAbandoned();
}

Machine::Thread& Machine::thread_at(int rank, SourceLine where) {
  if (abandoned_) throw LaunchAbandoned();
  Thread& thread = threads_[static_cast<std::size_t>(rank)];
  thread.last = where;
  return thread;
}

void Machine::touch(int rank, SourceLine where) {
  thread_at(rank, where);
  if (options_.schedule == Schedule::random && random_() % 8 == 0) wait(rank, State::ready);
}

void Machine::abandon(Finding finding) {
  findings_.add(std::move(finding));
  abandoned_ = true;
  throw LaunchAbandoned();
}

Actor Machine::actor(int rank) const {
  const Thread& thread = threads_[static_cast<std::size_t>(rank)];
  return {rank, epoch_, thread.time, &thread.seen};
}

void Machine::sync(int rank, SourceLine where) {
  Thread& thread = thread_at(rank, where);
  if (++waiting_at_barrier_ == shape_.threads) {
    thread.state = State::at_barrier;
    open_barrier();
    // Only under the greedy schedule the last thread to reach a barrier leaves it first.
    if (options_.schedule != Schedule::greedy) wait(rank, State::ready);
    return;
  }
  wait(rank, State::at_barrier);
}

void Machine::open_barrier() {
  const SourceLine first = threads_[0].last;
  for (const Thread& thread : threads_) {
    if (!(thread.last == first)) abandon(stuck_barrier());
  }
  waiting_at_barrier_ = 0;
  ++epoch_;
  ++report_.barriers;
  for (Thread& thread : threads_) thread.state = State::ready;
}

void Machine::warp_operation(int rank, const WarpOperation& operation) {
  Thread& thread = thread_at(rank, operation.where);
  const int lane = rank % warp_size;
  const int first = rank - lane;
  if ((operation.mask >> lane & 1U) == 0) {
    abandon({FindingKind::warp_mask,
             to_string(operation.where) + ": lane " + std::to_string(lane) + " of warp " +
                 std::to_string(rank / warp_size) + " calls " + to_string(operation.call) +
                 " with a mask that does not name it",
             {operation.where}});
  }
  thread.operation = operation;
  thread.state = State::at_warp;
  if (!complete(first, operation)) return wait(rank, State::at_warp);
  carry_out(first, operation);
  if (options_.schedule != Schedule::greedy) wait(rank, State::ready);
}

// Have all lanes of the mask reached the same call with the same mask?
bool Machine::complete(int first, const WarpOperation& operation) const {
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((operation.mask >> lane & 1U) == 0) continue;
    if (first + lane >= shape_.threads) return false;
    const Thread& other = threads_[static_cast<std::size_t>(first + lane)];
    if (other.state != State::at_warp || other.operation.call != operation.call ||
        other.operation.mask != operation.mask) {
      return false;
    }
  }
  return true;
}

void Machine::carry_out(int first, const WarpOperation& operation) {
  ++report_.warp_operations;
  unsigned votes = 0;
  const MmaOperands* operands[warp_size] = {};
  FragmentC* products[warp_size] = {};
  const MatrixRow* rows[warp_size] = {};
  MatrixRow* parts[warp_size] = {};
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((operation.mask >> lane & 1U) == 0) continue;
    Thread& thread = threads_[static_cast<std::size_t>(first + lane)];
    thread.state = State::ready;
    const WarpOperation& own = thread.operation;
    if (own.call == WarpCall::mma) {
      operands[lane] = static_cast<const MmaOperands*>(own.in);
      products[lane] = static_cast<FragmentC*>(own.out);
    } else if (own.call == WarpCall::load_matrices) {
      rows[lane] = static_cast<const MatrixRow*>(own.in);
      parts[lane] = static_cast<MatrixRow*>(own.out);
    } else if (own.call == WarpCall::ballot || own.call == WarpCall::any || own.call == WarpCall::all) {
      votes |= *static_cast<const bool*>(own.in) ? 1U << lane : 0U;
    } else if (own.call != WarpCall::sync) {
      const int source = source_lane(own, lane);
      if ((own.mask >> source & 1U) == 0) {
        abandon({FindingKind::warp_mask,
                 to_string(own.where) + ": lane " + std::to_string(lane) + " of warp " +
                     std::to_string(first / warp_size) + " takes the value of lane " + std::to_string(source) + " by " +
                     to_string(own.call) + ", which the mask does not name",
                 {own.where}});
      }
      std::memcpy(own.out, threads_[static_cast<std::size_t>(first + source)].operation.in, own.size);
    }
  }
  if (operation.call == WarpCall::sync) order_lanes(first, operation.mask);
  if (operation.call == WarpCall::mma) multiply_fragments(operands, products);
  if (operation.call == WarpCall::load_matrices) share_matrices(rows, operation.argument != 0, parts);
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((operation.mask >> lane & 1U) == 0) continue;
    const WarpOperation& own = threads_[static_cast<std::size_t>(first + lane)].operation;
    if (own.call == WarpCall::ballot) *static_cast<unsigned*>(own.out) = votes;
    if (own.call == WarpCall::any) *static_cast<bool*>(own.out) = votes != 0;
    if (own.call == WarpCall::all) *static_cast<bool*>(own.out) = votes == operation.mask;
  }
}

// Earlier accesses of the lanes in the mask come before their later ones: each lane's clock becomes the latest of all.
void Machine::order_lanes(int first, unsigned mask) {
  std::array<std::uint32_t, 32> latest{};
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const Thread& thread = threads_[static_cast<std::size_t>(first + lane)];
    for (std::size_t k = 0; k < latest.size(); ++k) latest[k] = std::max(latest[k], thread.seen[k]);
    latest[static_cast<std::size_t>(lane)] = thread.time;
  }
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    Thread& thread = threads_[static_cast<std::size_t>(first + lane)];
    thread.seen = latest;
    ++thread.time;
  }
}

}  // namespace softcheck::kernels::emulator
