#pragma once

#include <functional>

#include "proptests/judge/containment.hpp"

namespace softcheck::proptests {

/// What the keeper tells the judge when the kernel's process has ended, and with it all that the kernel had started.
struct EndMessage {
  bool known = false;  // else it was stopped from outside
  int status = 0;      // as waitpid gives it
};

/// Never returns, and runs nothing of the kernel's: stands between the judge and the kernel's process, which it starts,
/// in namespaces where the system allows them. When that process ends, or the judge ends or shuts its side of the
/// control socket, everything that came of it is killed and waited for, and an EndMessage sent.
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
