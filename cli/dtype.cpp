#include "cli/dtype.hpp"

#include <fmt/format.h>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

numerics::Format dtype_of(const std::string& flag, const std::string& text) {
  if (const std::optional<numerics::Format> format = numerics::find_format(text)) return *format;
  throw InputError(usage, fmt::format("{}: need {}, got '{}'", flag, numerics::format_names(), text));
}

}  // namespace softcheck::cli
