#pragma once

#include <functional>

#include "judge/sandbox/containment.hpp"

namespace softcheck::proptests {

/// The keeper's message to the judge after the kernel's process and all processes that it started have ended.
struct EndMessage {
  bool known = false;  // false: the process was stopped from outside
  int status = 0;      // from waitpid
};

/// Runs between the judge and the kernel's process, without any code of the kernel. Starts the kernel's process, in
/// namespaces if the system allows them. When that process ends, or the judge ends or shuts its side of the control
/// socket, the keeper kills all descendants, waits for them and sends an EndMessage. Never returns.
///
/// control   the keeper's side of a SOCK_SEQPACKET socket, the only descriptor that it keeps
/// start     runs the kernel's process; never returns
[[noreturn]] void keep_process(int control, Isolation isolation,
                               const std::function<void(Containment)>& start) noexcept;

/// Kills this process's children, and their children as this process inherits them, until none is left.
///
/// all   kill every process of the namespace except the first
void end_children(bool all);

}  // namespace softcheck::proptests
