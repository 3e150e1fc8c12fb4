#pragma once

#include <string>

namespace softcheck::proptests {

/// What of this machine a kernel's bits may depend on: its processor's name and the extensions that kernels choose
/// between. Two machines of one class give the same answers; it names no machine.
std::string host_class();

}  // namespace softcheck::proptests
