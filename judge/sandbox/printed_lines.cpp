#include "judge/sandbox/printed_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {

std::string last_bytes(int descriptor, std::size_t from) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  const auto begin = static_cast<off_t>(from), first = std::max(begin, size - static_cast<off_t>(most_printed_bytes));
  if (size <= first) return "";
  std::string text(static_cast<std::size_t>(size - first), '\0');
  ssize_t got = -1;
  do got = pread(descriptor, text.data(), text.size(), first);
  while (got < 0 && errno == EINTR);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  const std::size_t line = first > begin ? text.find('\n') + 1 : 0;  // npos + 1 is 0
  return line < text.size() ? text.substr(line) : text;
}

std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string_view below;  // the line after this one, and whether it is marked
  bool repeated = false;
  while (!text.empty()) {
    const std::size_t end = text.find_last_of('\n');
    const std::string_view line = end == std::string_view::npos ? text : text.substr(end + 1);
    text = text.substr(0, end == std::string_view::npos ? 0 : end);
    if (line.empty()) continue;
    if (line == below) {
      if (!repeated) lines.back() += " (repeated)";
      repeated = true;
      continue;
    }
    if (lines.size() == most_printed_lines) break;
    lines.push_back(escaped_text(line));
    below = line;
    repeated = false;
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace softcheck::proptests
