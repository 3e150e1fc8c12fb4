#pragma once

#include <string>

namespace softcheck::kernels::emulator {

/// A line of a kernel's source, as the default argument here() of a call captures it. clang 14 with libstdc++ lacks
/// std::source_location; both compilers evaluate the built-ins at the outermost call.
struct SourceLine {
  const char* file = "";
  unsigned line = 0;

  static constexpr SourceLine here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

bool operator==(SourceLine left, SourceLine right);

/// "softmax.hpp:41": without the folders.
std::string to_string(SourceLine line);

}  // namespace softcheck::kernels::emulator
