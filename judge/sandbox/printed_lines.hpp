#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// What a report shows of a kernel's output: a traceback's end fits, and a kernel that prints without end does not
/// flood the report.
inline constexpr std::size_t most_printed_bytes = 2048;
inline constexpr std::size_t most_printed_lines = 10;

/// At most the last most_printed_bytes of a file. A first line that is cut is left out. The file's offset stays where
/// it is.
///
/// descriptor   of a regular file or a memfd, open for reading
/// from         bytes before this one are left out
std::string last_bytes(int descriptor, std::size_t from = 0);

/// The last most_printed_lines lines that are not empty; of equal ones that follow each other one, marked "(repeated)".
/// Control characters and bytes that are no UTF-8 are written as
/// `\xNN`: what a kernel prints cannot move the reader's cursor or change its colours.
std::vector<std::string> last_lines(std::string_view text);

}  // namespace softcheck::proptests
