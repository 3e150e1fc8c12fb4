#pragma once

#include <new>
#include <system_error>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

/// Raises this process's stack limit to the size that the verbs need, as far as the system allows.
///
/// throws   InputError (unsupported) naming the limit, if the system allows too little
void require_stack();

/// The error, with this process's limit that explains it, if there is one: "KernelChild: socketpair: Too many open
/// files; this process may open 5 (ulimit -n)".
InputError limit_reached(const std::system_error& error);
InputError limit_reached(const std::bad_alloc& error);

}  // namespace softcheck::cli
