#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace softcheck::cli {

/// Call at the start of the program. Opens a failing stream for each standard stream that the caller closed, so that no
/// file opened later gets its descriptor. A write to a pipe without a reader, or to a file that may not grow, then
/// fails instead of ending the program.
void prepare_streams();

/// Prints to standard output and flushes. Reports the first lost text on standard error.
void say_text(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  say_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Prints to standard error; ignores a failure.
void complain_text(std::string_view text);

template <class... Arguments>
void complain(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  complain_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Has standard output lost text, since the last forgive_lost_output?
bool has_lost_output();

/// Call when a file has the lost text.
void forgive_lost_output();

}  // namespace softcheck::cli
