#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace softcheck::cli {

/// For the begin of the program. A standard stream that the caller closed is taken by one that fails, so that no file
/// opened later stands in its place; a pipe whose reader is gone, and a file that may not grow, fail the write instead
/// of ending the program.
void prepare_streams();

/// Prints to standard output and flushes. The first text that is lost is reported on standard error.
void say_text(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  say_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Prints to standard error, as far as that can be written.
void complain_text(std::string_view text);

template <class... Arguments>
void complain(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  complain_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Has standard output lost anything that no file has?
bool has_lost_output();

/// What was lost stands in a file, too.
void forgive_lost_output();

}  // namespace softcheck::cli
