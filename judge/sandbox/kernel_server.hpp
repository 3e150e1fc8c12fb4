#pragma once

#include "judge/sandbox/kernel_child.hpp"

namespace softcheck::proptests {

/// The child's side: gives up its rights, loads the kernel, and answers each ChildRequest. It reports each step by a
/// ServerMessage. It loads a library that can be forked once, and replaces every process that dies by another fork of
/// the loader. An exception that crosses the C boundary ends the process.
///
/// socket        the child's end of the channel       printed   file that the kernel prints to
/// containment   what the process's namespaces have reached
[[noreturn]] void serve_kernel(int socket, int printed, const KernelSource& source, const KernelLimits& limits,
                               Containment containment) noexcept;

}  // namespace softcheck::proptests
