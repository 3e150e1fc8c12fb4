#include "kernels/emulator/shared_memory.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "kernels/block/context.hpp"

namespace softcheck::kernels::emulator {
namespace {

// All bits set are NaN in every format and an index far outside as an integer.
constexpr std::byte poison{0xff};

}  // namespace

ShadowMemory::ShadowMemory(std::size_t bytes, bool of_block, const char* name, Findings& findings)
    : of_block_(of_block), name_(name), cells_(std::make_unique<Cell[]>(bytes)), findings_(findings), lines_(1) {}

void SharedMemory::begin_block(std::uint32_t epoch) {
  shadow_.begin_block(epoch);
  std::ranges::fill(bytes_, poison);
}

TracedMemory::TracedMemory(std::span<const std::span<std::byte>> buffers, Findings& findings) {
  for (const std::span<std::byte> buffer : buffers) {
    buffers_.push_back({buffer, ShadowMemory(buffer.size(), false, "global memory", findings)});
  }
}

void TracedMemory::begin_block(std::uint32_t epoch) {
  for (Buffer& buffer : buffers_) buffer.shadow.begin_block(epoch);
}

ShadowMemory* TracedMemory::find(const std::byte* address, std::size_t& offset) {
  for (Buffer& buffer : buffers_) {
    const std::less<const std::byte*> before;
    if (before(address, buffer.bytes.data()) || !before(address, buffer.bytes.data() + buffer.bytes.size())) continue;
    offset = static_cast<std::size_t>(address - buffer.bytes.data());
    return &buffer.shadow;
  }
  return nullptr;
}

// Lines as numbers, so that the record of an access is small. Number 0 is no line.
std::uint32_t ShadowMemory::line_number(SourceLine where) {
  std::uint32_t& cached = line_cache_[where.line % line_cache_.size()];
  if (lines_[cached].line == where.line && lines_[cached].file == where.file) return cached;
  const auto found = std::ranges::find_if(
      lines_, [&](const SourceLine& line) { return line.line == where.line && line.file == where.file; });
  cached = static_cast<std::uint32_t>(found - lines_.begin());
  if (found == lines_.end()) lines_.push_back(where);
  return cached;
}

bool ShadowMemory::races(const Access& earlier, const Actor& actor, bool both_atomic) const {
  if (earlier.line == 0 || both_atomic) return false;
  if (of_another_block(earlier)) return true;
  if (earlier.rank == actor.rank) return false;
  if (const int block = earlier.rank / actor.threads; block != actor.rank / actor.threads) {
    if (actor.known == nullptr) return earlier.epoch >= actor.cluster_epoch;
    return earlier.epoch >= actor.known->epochs[static_cast<std::size_t>(block)] &&
           earlier.time > actor.known->times[static_cast<std::size_t>(earlier.rank)];
  }
  if (earlier.epoch != actor.epoch) return false;
  if (earlier.rank / warp_size != actor.rank / warp_size) return true;
  return (*actor.seen)[static_cast<std::size_t>(earlier.rank % warp_size)] < earlier.time;
}

void ShadowMemory::report_race(const Access& earlier, const char* earlier_verb, const char* verb,
                               const SharedElement& element, const Actor& actor, SourceLine where) {
  const SourceLine before = lines_[earlier.line];
  const FindingKind kind = of_block_ ? FindingKind::shared_race : FindingKind::global_race;
  if (findings_.has(kind, where, before)) return;
  findings_.add({kind,
                 to_string(where) + ": thread " + std::to_string(actor.rank) + " " + verb + " element " +
                     std::to_string(element.index) + " (byte " + std::to_string(element.offset) + " of " + name_ +
                     "), which thread " + std::to_string(earlier.rank) + " " +
                     (of_another_block(earlier) ? "of another block " : "") + earlier_verb + " at " +
                     to_string(before) + (of_another_block(earlier) ? "" : " with no barrier between"),
                 {where, before}});
}

void ShadowMemory::check_written(Cell& cell, const SharedElement& element, const Actor& actor, SourceLine where) {
  if (!of_block_ || (cell.write.epoch >= first_epoch_ && cell.write.epoch != 0)) return;
  findings_.add({FindingKind::uninitialised_shared,
                 to_string(where) + ": thread " + std::to_string(actor.rank) + " reads element " +
                     std::to_string(element.index) + " (byte " + std::to_string(element.offset) +
                     " of shared memory), which no thread has written",
                 {where}});
  // The cell counts as written from here on, so that it is reported once. Line 0: no thread races with this write.
  cell.write = {first_epoch_, 0, 0, static_cast<std::int16_t>(actor.rank), false};
}

bool ShadowMemory::check_reads(const Cell& cell, const char* verb, const SharedElement& element, const Actor& actor,
                               SourceLine where) {
  for (const Access* read : {&cell.read, &cell.read_of_another_lane, &cell.read_of_another_warp}) {
    if (!races(*read, actor, false)) continue;
    report_race(*read, "read", verb, element, actor, where);
    return true;
  }
  return false;
}

void ShadowMemory::note_read(Cell& cell, const Access& access, const Actor& actor) {
  const Access last = cell.read;
  // A read of another block comes before no later write, so it is kept.
  if (of_another_block(last) && !of_another_block(cell.read_of_another_warp)) {
    cell.read_of_another_warp = last;
  } else if ((last.epoch == access.epoch || last.rank / actor.threads != access.rank / actor.threads) &&
             last.rank != access.rank && !of_another_block(cell.read_of_another_warp)) {
    if (last.rank / warp_size == access.rank / warp_size) {
      cell.read_of_another_lane = last;
    } else {
      cell.read_of_another_warp = last;
    }
  }
  cell.read = access;
}

void ShadowMemory::on_read(const SharedElement& element, const Actor& actor, SourceLine where) {
  const std::uint32_t line = line_number(where);
  const Access access{actor.epoch, actor.time, line, static_cast<std::int16_t>(actor.rank), false};
  for (std::size_t i = element.offset; i < element.offset + element.size; ++i) {
    Cell& cell = cells_[i];
    check_written(cell, element, actor, where);
    if (races(cell.write, actor, false)) report_race(cell.write, "wrote", "reads", element, actor, where);
    note_read(cell, access, actor);
  }
}

void ShadowMemory::on_write(const SharedElement& element, const Actor& actor, SourceLine where) {
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

void ShadowMemory::on_atomic(const SharedElement& element, const Actor& actor, SourceLine where) {
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
