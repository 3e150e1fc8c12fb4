#include "kernels/emulator/machine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
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
      at_once_(shape.cooperative ? std::max(1, static_cast<int>(shape.blocks)) : shape.cluster),
      options_(options),
      kernel_(kernel),
      shared_stride_((shape.shared_bytes + 15) / 16 * 16),
      shared_(at_once_ == 1 ? shape.shared_bytes : shared_stride_ * static_cast<std::size_t>(at_once_), findings_),
      traced_(options.traced, findings_),
      threads_(static_cast<std::size_t>(threads())),
      fibers_(fibers(threads_.size())),
      random_(options.seed),
      waiting_(static_cast<std::size_t>(at_once_) + 1),
      epochs_(static_cast<std::size_t>(at_once_)),
      reached_(epochs_.size()),
      known_(shape.cooperative ? epochs_.size() : 0, Knowledge(epochs_.size(), threads_.size())),
      behind_barrier_(known_) {
  for (int rank = 0; rank < threads(); ++rank) jobs_.emplace_back([this, rank] { run_thread(rank); });
}

LaunchReport Machine::run() {
  const Running here(*this);
  std::vector<std::int64_t> order(static_cast<std::size_t>(shape_.blocks / at_once_));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i) * at_once_;
  if (options_.schedule == Schedule::reverse) std::ranges::reverse(order);
  if (options_.schedule == Schedule::random) std::ranges::shuffle(order, random_);
  for (const std::int64_t block : order) {
    run_cluster(block);
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
  const int block = rank / shape_.threads;
  SourceLine& reached = reached_[static_cast<std::size_t>(block)];
  if (reached.line != 0 && !abandoned_) report_absent(block, reached, "may have ended");
  reached = {};
  threads_[static_cast<std::size_t>(rank)].state = State::done;
  ++left_;
}

void Machine::run_cluster(std::int64_t first_block) {
  block_ = first_block;
  left_ = 0;
  std::ranges::fill(waiting_, 0);
  first_epoch_ = cluster_epoch_ = ++epoch_;
  std::ranges::fill(reached_, SourceLine{});
  std::ranges::fill(epochs_, epoch_);
  shared_.begin_block(epoch_);
  traced_.begin_block(epoch_);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i] = Thread{};
    threads_[i].state = State::ready;
    fibers_[i]->start(jobs_[i]);
  }
  current_ = options_.schedule == Schedule::reverse ? 0 : threads() - 1;
  while (left_ < threads()) {
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
    const Thread& thread = threads_[static_cast<std::size_t>(rank)];
    return thread.state == State::ready || (abandoned_ && thread.state != State::done) ||
           (thread.state == State::at_counter && has_reached(*thread.counter, thread.count));
  };
  if (options_.schedule == Schedule::greedy && able(current_)) return current_;
  const int step = options_.schedule == Schedule::reverse ? threads() - 1 : 1;
  int rank = current_;
  if (options_.schedule == Schedule::random) rank = static_cast<int>(random_() % threads_.size());
  for (int tried = 0; tried < threads(); ++tried) {
    rank = (rank + step) % threads();
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
  return {rank,
          epochs_[static_cast<std::size_t>(rank / shape_.threads)],
          thread.time,
          &thread.seen,
          shape_.threads,
          cluster_epoch_,
          known_.empty() ? nullptr : &known_[static_cast<std::size_t>(rank / shape_.threads)]};
}

void Machine::sync(int rank, SourceLine where) { meet(rank, State::at_barrier, where); }
void Machine::sync_cluster(int rank, SourceLine where) { meet(rank, State::at_cluster, where); }

// A barrier of the thread's block, or of the cluster.
void Machine::meet(int rank, State state, SourceLine where) {
  const int block = rank / shape_.threads;
  const bool of_cluster = state == State::at_cluster && shape_.cluster > 1;
  const int first = of_cluster ? 0 : block * shape_.threads, count = of_cluster ? threads() : shape_.threads;
  int& waiting = waiting_[static_cast<std::size_t>(of_cluster ? at_once_ : block)];
  Thread& thread = thread_at(rank, where);
  if (++waiting < count) return wait(rank, state);
  waiting = 0;
  thread.state = state;
  open_barrier(first, count);
  if (of_cluster) {
    cluster_epoch_ = epoch_;
    std::ranges::fill(reached_, SourceLine{});
  }
  // Only under the greedy schedule the last thread to reach a barrier leaves it first.
  if (options_.schedule != Schedule::greedy) wait(rank, State::ready);
}

void Machine::open_barrier(int first, int count) {
  const std::span<Thread> all =
      std::span(threads_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  for (const Thread& thread : all) {
    if (!(thread.last == all.front().last)) abandon(stuck_barrier());
  }
  ++epoch_;
  ++report_.barriers;
  for (int rank = first; rank < first + count; rank += shape_.threads) {
    epochs_[static_cast<std::size_t>(rank / shape_.threads)] = epoch_;
  }
  for (Thread& thread : all) thread.state = State::ready;
  if (known_.empty()) return;
  const auto block = static_cast<std::size_t>(first / shape_.threads);
  known_[block].join(behind_barrier_[block]);
}

// What comes before the signal: the block's accesses before its last barrier, those of the caller's lane and what it
// knows of others.
void Machine::signal(int rank, std::uint32_t* counter, SourceLine where) {
  touch(rank, where);
  Thread& thread = threads_[static_cast<std::size_t>(rank)];
  ++*counter;
  if (known_.empty()) return;
  const auto block = static_cast<std::size_t>(rank / shape_.threads);
  Knowledge carried = known_[block];
  carried.epochs[block] = epochs_[block];
  const auto warp = carried.times.begin() + rank / warp_size * warp_size;
  std::ranges::transform(thread.seen, std::span(warp, warp_size), warp,
                         [](std::uint32_t one, std::uint32_t two) { return std::max(one, two); });
  carried.times[static_cast<std::size_t>(rank)] = thread.time++;
  signals_.add(counter, std::move(carried));
}

void Machine::wait_for(int rank, const std::uint32_t* counter, std::uint32_t count, SourceLine where) {
  touch(rank, where);
  Thread& thread = threads_[static_cast<std::size_t>(rank)];
  thread.counter = counter;
  thread.count = count;
  if (!has_reached(*counter, count)) {
    wait(rank, State::at_counter);
    thread.state = State::ready;
  }
  if (known_.empty()) return;
  if (const Knowledge* needed = signals_.needed(counter, count)) {
    behind_barrier_[static_cast<std::size_t>(rank / shape_.threads)].join(*needed);
  }
}

void Machine::check_present(int rank, std::size_t offset, SourceLine where) {
  if (shape_.cluster == 1) return;
  const int block = static_cast<int>(offset / shared_stride_);
  if (block == rank / shape_.threads) return;
  if (cluster_epoch_ == first_epoch_) report_absent(block, where, "may not have begun");
  const auto first = threads_.begin() + block * shape_.threads;
  const auto has_left = [](const Thread& thread) { return thread.state == State::done; };
  if (std::any_of(first, first + shape_.threads, has_left)) report_absent(block, where, "may have ended");
  reached_[static_cast<std::size_t>(block)] = where;
}

void Machine::report_absent(int block, SourceLine where, const char* why) {
  findings_.add({FindingKind::absent_block,
                 to_string(where) + ": a thread reaches for the shared memory of block " +
                     std::to_string(block_ + block) + " of its cluster, which " + why,
                 {where}});
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
    if (first + lane >= threads()) return false;
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
