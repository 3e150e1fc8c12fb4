#pragma once

#include "proptests/judge/kernel_child.hpp"

namespace softcheck::proptests {

/// The child's side: gives up its rights and says so, loads the kernel, says so, and answers each ChildRequest, all by
/// ServerMessages. A library that can be forked is loaded once, and every process that dies is replaced by another fork
/// of the one that loaded it. An exception that crosses the C boundary ends the process.
///
/// socket        the child's end of the channel       printed   file that the kernel prints to
/// containment   what the process's namespaces have reached
[[noreturn]] void serve_kernel(int socket, int printed, const KernelSource& source, const KernelLimits& limits,
                               Containment containment) noexcept;

}  // namespace softcheck::proptests
