#include "cli/flag_words.hpp"

#include <fmt/format.h>

#include "cli/exit_code.hpp"
#include "judge/op/op.hpp"

namespace softcheck::cli {

numerics::Format dtype_of(const std::string& flag, const std::string& text) {
  if (const std::optional<numerics::Format> format = numerics::find_format(text)) return *format;
  throw InputError(usage, fmt::format("{}: need {}, got '{}'", flag, numerics::format_names(), text));
}

void add_op_flag(Verb verb, std::string& op) {
  std::string ops;
  for (const proptests::Op one : proptests::all_ops()) {
    ops += fmt::format("{}{}", ops.empty() ? "" : ", ", to_string(one));
  }
  verb.add_option("--op", op, ops, shown);
}

std::string time_left_text(std::size_t done, std::size_t all, double seconds) {
  if (done == 0 || seconds <= 1) return "";
  return fmt::format(", about {:.0f} s left", seconds / static_cast<double>(done) * static_cast<double>(all - done));
}

}  // namespace softcheck::cli
