#pragma once

#include <functional>

#include "judge/sandbox/containment.hpp"

namespace softcheck::proptests {

/// The keeper's message to the judge when the kernel's process and all processes that it started have ended.
struct EndMessage {
  bool known = false;  // else it was stopped from outside
  int status = 0;      // as waitpid gives it
};

/// Runs in a process between the judge and the kernel's process. Starts the kernel's process, in namespaces where the
/// system allows them, and runs no code of the kernel. When that process ends, or the judge ends or shuts its side of
/// the control socket, it kills all descendants, waits for them and sends an EndMessage. Never returns.
///
/// control   the keeper's side of a SOCK_SEQPACKET socket, the only descriptor that it keeps
/// start     the kernel's process; it never returns
[[noreturn]] void keep_process(int control, Isolation isolation,
                               const std::function<void(Containment)>& start) noexcept;

/// Kills the children of this process, and theirs as they become its own, until there is none.
///
/// all   every process of the namespace but its first one
void end_children(bool all);

}  // namespace softcheck::proptests
