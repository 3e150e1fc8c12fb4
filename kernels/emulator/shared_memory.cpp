#include "kernels/emulator/shared_memory.hpp"

#include <algorithm>
#include <string>

#include "kernels/block/context.hpp"

namespace softcheck::kernels::emulator {
namespace {

// All bits set are NaN in every format and an index far outside as an integer.
constexpr std::byte poison{0xff};

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes, Findings& findings)
    : bytes_(bytes), cells_(std::make_unique<Cell[]>(bytes)), findings_(findings), lines_(1) {}

void SharedMemory::begin_block(std::uint32_t epoch) {
  first_epoch_ = epoch;
  std::ranges::fill(bytes_, poison);
}

// Lines as numbers, so that what is kept of an access is small. Number 0 is no line.
std::uint32_t SharedMemory::line_number(SourceLine where) {
  std::uint32_t& cached = line_cache_[where.line % line_cache_.size()];
  if (lines_[cached].line == where.line && lines_[cached].file == where.file) return cached;
  const auto found = std::ranges::find_if(
      lines_, [&](const SourceLine& line) { return line.line == where.line && line.file == where.file; });
  cached = static_cast<std::uint32_t>(found - lines_.begin());
  if (found == lines_.end()) lines_.push_back(where);
  return cached;
}

bool SharedMemory::races(const Access& earlier, const Actor& actor, bool both_atomic) {
  if (earlier.line == 0 || earlier.epoch != actor.epoch || earlier.rank == actor.rank || both_atomic) return false;
  if (earlier.rank / warp_size != actor.rank / warp_size) return true;
  return (*actor.seen)[static_cast<std::size_t>(earlier.rank % warp_size)] < earlier.time;
}

void SharedMemory::report_race(const Access& earlier, const char* earlier_verb, const char* verb,
                               const SharedElement& element, const Actor& actor, SourceLine where) {
  const SourceLine before = lines_[earlier.line];
  if (findings_.has(FindingKind::shared_race, where, before)) return;
  findings_.add({FindingKind::shared_race,
                 to_string(where) + ": thread " + std::to_string(actor.rank) + " " + verb + " element " +
                     std::to_string(element.index) + " (byte " + std::to_string(element.offset) +
                     " of shared memory), which thread " + std::to_string(earlier.rank) + " " + earlier_verb + " at " +
                     to_string(before) + " with no barrier between",
                 {where, before}});
}

void SharedMemory::check_written(Cell& cell, const SharedElement& element, const Actor& actor, SourceLine where) {
  if (cell.write.epoch >= first_epoch_ && cell.write.epoch != 0) return;
  findings_.add({FindingKind::uninitialised_shared,
                 to_string(where) + ": thread " + std::to_string(actor.rank) + " reads element " +
                     std::to_string(element.index) + " (byte " + std::to_string(element.offset) +
                     " of shared memory), which no thread has written",
                 {where}});
  // Told once. Line 0: written by nobody, so that nobody races with it.
  cell.write = {first_epoch_, 0, 0, static_cast<std::int16_t>(actor.rank), false};
}

bool SharedMemory::check_reads(const Cell& cell, const char* verb, const SharedElement& element, const Actor& actor,
                               SourceLine where) {
  for (const Access* read : {&cell.read, &cell.read_of_another_lane, &cell.read_of_another_warp}) {
    if (!races(*read, actor, false)) continue;
    report_race(*read, "read", verb, element, actor, where);
    return true;
  }
  return false;
}

void SharedMemory::note_read(Cell& cell, const Access& access) {
  const Access last = cell.read;
  if (last.epoch == access.epoch && last.rank != access.rank) {
    if (last.rank / warp_size == access.rank / warp_size) {
      cell.read_of_another_lane = last;
    } else {
      cell.read_of_another_warp = last;
    }
  }
  cell.read = access;
}

void SharedMemory::on_read(const SharedElement& element, const Actor& actor, SourceLine where) {
  const std::uint32_t line = line_number(where);
  const Access access{actor.epoch, actor.time, line, static_cast<std::int16_t>(actor.rank), false};
  for (std::size_t i = element.offset; i < element.offset + element.size; ++i) {
    Cell& cell = cells_[i];
    check_written(cell, element, actor, where);
    if (races(cell.write, actor, false)) report_race(cell.write, "wrote", "reads", element, actor, where);
    note_read(cell, access);
  }
}

void SharedMemory::on_write(const SharedElement& element, const Actor& actor, SourceLine where) {
  const std::uint32_t line = line_number(where);
  const Access access{actor.epoch, actor.time, line, static_cast<std::int16_t>(actor.rank), false};
  for (std::size_t i = element.offset; i < element.offset + element.size; ++i) {
    Cell& cell = cells_[i];
    if (races(cell.write, actor, false)) {
      report_race(cell.write, "wrote", "writes", element, actor, where);
    } else {
      check_reads(cell, "writes", element, actor, where);
    }
    cell = {access, {}, {}, {}};
  }
}

void SharedMemory::on_atomic(const SharedElement& element, const Actor& actor, SourceLine where) {
  const std::uint32_t line = line_number(where);
  const Access access{actor.epoch, actor.time, line, static_cast<std::int16_t>(actor.rank), true};
  for (std::size_t i = element.offset; i < element.offset + element.size; ++i) {
    Cell& cell = cells_[i];
    check_written(cell, element, actor, where);
    if (races(cell.write, actor, cell.write.atomic)) {
      report_race(cell.write, "wrote", "adds to", element, actor, where);
    } else {
      check_reads(cell, "adds to", element, actor, where);
    }
    cell = {access, {}, {}, {}};
  }
}

}  // namespace softcheck::kernels::emulator
