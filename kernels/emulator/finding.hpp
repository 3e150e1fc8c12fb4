#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/emulator/source_line.hpp"

namespace softcheck::kernels::emulator {

/// The kinds of defects that a launch can show.
enum class FindingKind {
  divergent_barrier,     // threads of a block meet at barriers of different lines, or some have left
  divergent_warp,        // a warp's operation waits for lanes that do something else, or have left
  warp_mask,             // a mask without the caller, or a shuffle from a lane that is not in the mask
  uninitialised_shared,  // shared memory read before it was written
  shared_race,           // two accesses to shared memory, one of them a write, with no barrier between
  global_race,           // the same of global memory that is traced, or by two blocks
  out_of_bounds,         // an index outside its view
  misaligned,            // several elements moved at once, at an address that is no multiple of their size
  absent_block,          // an access to the shared memory of a block that has not begun, or has ended
  shared_exhausted,      // the body requests more shared memory than the launch has
  schedule_dependent     // the results of two schedules differ
};

const char* to_string(FindingKind kind);

/// A defect of a kernel. message names the threads, what they did, and every source line; lines has these lines, the
/// line at fault first.
struct Finding {
  FindingKind kind;
  std::string message;
  std::vector<SourceLine> lines;
};

/// The findings of a launch, each defect once: findings of the same kind at the same lines are the same defect.
class Findings {
 public:
  void add(Finding finding);
  bool has(FindingKind kind, SourceLine first, SourceLine second) const;
  const std::vector<Finding>& all() const { return found_; }

 private:
  std::vector<Finding> found_;
};

}  // namespace softcheck::kernels::emulator
