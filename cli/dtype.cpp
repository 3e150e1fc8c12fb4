#include "cli/dtype.hpp"

#include <fmt/format.h>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

numerics::Format dtype_of(const std::string& flag, const std::string& text) {
  for (numerics::Format format :
       {numerics::Format::f64, numerics::Format::f32, numerics::Format::f16, numerics::Format::bf16}) {
    if (numerics::properties(format).name == text) return format;
  }
  throw InputError(usage, fmt::format("{}: need f64, f32, f16 or bf16, got '{}'", flag, text));
}

}  // namespace softcheck::cli
