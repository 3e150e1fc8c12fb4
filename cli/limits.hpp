#pragma once

#include <new>
#include <system_error>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

/// Raises this process's limit of the stack to what the verbs need, as far as the system allows.
///
/// throws   InputError (unsupported) naming the limit, where it allows too little
void require_stack();

/// What ran out: the error, and the limit of this process behind it where there is one: "KernelChild: socketpair: Too
/// many open files; this process may open 5 (ulimit -n)".
InputError limit_reached(const std::system_error& error);
InputError limit_reached(const std::bad_alloc& error);

}  // namespace softcheck::cli
