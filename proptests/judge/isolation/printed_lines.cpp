#include "proptests/judge/isolation/printed_lines.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "proptests/report.hpp"

namespace softcheck::proptests {

std::string last_bytes(int descriptor) {
  const off_t size = lseek(descriptor, 0, SEEK_END);
  if (size <= 0) return "";
  const auto first = std::max<off_t>(0, size - static_cast<off_t>(most_printed_bytes));
  std::string text(static_cast<std::size_t>(size - first), '\0');
  ssize_t got = -1;
  do got = pread(descriptor, text.data(), text.size(), first);
  while (got < 0 && errno == EINTR);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<std::string> last_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most_printed_lines) {
    const std::size_t end = text.find_last_of('\n');
    const std::string_view line = end == std::string_view::npos ? text : text.substr(end + 1);
    if (!line.empty()) lines.push_back(escaped_text(line));
    text = text.substr(0, end == std::string_view::npos ? 0 : end);
  }
  std::ranges::reverse(lines);
  return lines;
}

}  // namespace softcheck::proptests
