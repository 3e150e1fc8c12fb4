#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// How much of a kernel's output a report shows: enough for the end of a traceback, too little to flood the report.
inline constexpr std::size_t most_printed_bytes = 2048;
inline constexpr std::size_t most_printed_lines = 10;

/// The last bytes of a file, at most most_printed_bytes. Leaves out a first line that is cut. Keeps the file's offset.
///
/// descriptor   of a regular file or a memfd, open for reading
/// from         offset in bytes; earlier bytes are ignored
std::string last_bytes(int descriptor, std::size_t from = 0);

/// The last most_printed_lines lines that are not empty. Repetitions of a line become one, marked "(repeated)". Control
/// characters and bytes that are not UTF-8 become `\xNN`, so that a kernel cannot move the reader's cursor or change
/// the terminal's colours.
std::vector<std::string> last_lines(std::string_view text);

}  // namespace softcheck::proptests
