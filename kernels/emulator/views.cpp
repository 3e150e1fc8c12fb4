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

std::byte* access_shared(Machine& machine, int rank, SharedUse use, const SharedElement& element, SourceLine where) {
  SharedMemory& shared = machine.shared();
  const Actor actor = machine.actor(rank);
  switch (use) {
    case SharedUse::read:
      shared.on_read(element, actor, where);
      break;
    case SharedUse::write:
      shared.on_write(element, actor, where);
      break;
    case SharedUse::atomic:
      shared.on_atomic(element, actor, where);
      break;
  }
  return shared.data() + element.offset;
}

}  // namespace softcheck::kernels::emulator
