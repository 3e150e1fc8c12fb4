#include "kernels/emulator/views.hpp"

#include <stdexcept>
#include <string>

#include "kernels/emulator/machine.hpp"

namespace softcheck::kernels::emulator {

bool within(const char* what, std::int64_t index, std::int64_t size, SourceLine where) {
  const bool inside = index >= 0 && index < size;
  if (Machine* machine = Machine::running()) {
    machine->touch(machine->current(), where);
    if (!inside) {
      machine->findings().add({FindingKind::out_of_bounds,
                               to_string(where) + ": thread " + std::to_string(machine->current()) + " of block " +
                                   std::to_string(machine->block_index()) + " uses index " + std::to_string(index) +
                                   " of a " + what + " of " + std::to_string(size) + " elements",
                               {where}});
    }
  } else if (!inside) {
    throw std::out_of_range(std::string(what) + ": need an index below " + std::to_string(size) + ", got " +
                            std::to_string(index));
  }
  return inside;
}

bool aligned_to(const char* what, std::size_t address, std::size_t size, SourceLine where) {
  const bool aligned = address % size == 0;
  if (Machine* machine = Machine::running(); machine != nullptr && !aligned) {
    machine->findings().add({FindingKind::misaligned,
                             to_string(where) + ": thread " + std::to_string(machine->current()) + " of block " +
                                 std::to_string(machine->block_index()) + " moves " + std::to_string(size) +
                                 " bytes at once in a " + what + ", " + std::to_string(address % size) +
                                 " bytes behind a multiple of that",
                             {where}});
  }
  return aligned;
}

namespace {

void note(ShadowMemory& shadow, MemoryUse use, const SharedElement& element, const Actor& actor, SourceLine where) {
  switch (use) {
    case MemoryUse::read:
      shadow.on_read(element, actor, where);
      break;
    case MemoryUse::write:
      shadow.on_write(element, actor, where);
      break;
    case MemoryUse::atomic:
      shadow.on_atomic(element, actor, where);
      break;
  }
}

}  // namespace

void trace_global(MemoryUse use, const void* element, std::size_t size, std::int64_t index, SourceLine where) {
  Machine* machine = Machine::running();
  if (machine == nullptr) return;
  std::size_t offset = 0;
  ShadowMemory* shadow = machine->traced().find(static_cast<const std::byte*>(element), offset);
  if (shadow != nullptr) note(*shadow, use, {index, offset, size}, machine->actor(machine->current()), where);
}

std::byte* access_shared(Machine& machine, int rank, MemoryUse use, const SharedElement& element, SourceLine where) {
  machine.check_present(rank, element.offset, where);
  note(machine.shared().shadow(), use, element, machine.actor(rank), where);
  return machine.shared().data() + element.offset;
}

}  // namespace softcheck::kernels::emulator
