#include "proptests/tests/planted/bug_table.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace softcheck::planted {
namespace {

constexpr const char* header = "id\teffort\tfile\ttext\treplacement\ttest\twhy";

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields(1);
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      fields.emplace_back();
    } else if (line.compare(i, 2, "\\n") == 0) {
      fields.back() += '\n';
      ++i;
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

Bug bug_of(const std::string& line, const std::string& place) {
  const std::vector<std::string> f = fields_of(line);
  if (f.size() != 7 || (f[1] != "quick" && f[1] != "deep")) {
    throw std::runtime_error(place + ": a bug has 7 fields, the second quick or deep; got " + std::to_string(f.size()) +
                             ": " + line);
  }
  if (f[0].empty() || f[3].empty() || f[5].empty() || f[6].empty() || f[3] == f[4]) {
    throw std::runtime_error(place + ": a bug has an id, a text that it changes, a test and a reason; got " + line);
  }
  return {f[0], f[1] == "quick", f[2], f[3], f[4], f[5], f[6]};
}

}  // namespace

std::vector<Bug> read_table(const std::filesystem::path& table) {
  std::istringstream lines(contents_of(table));
  std::string line;
  if (!std::getline(lines, line) || line != header) {
    throw std::runtime_error(table.string() + ": the first line names the columns: " + header);
  }
  std::vector<Bug> bugs;
  std::set<std::string> ids;
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::string place = table.string() + ":" + std::to_string(number);
    bugs.push_back(bug_of(line, place));
    if (!ids.insert(bugs.back().id).second) {
      throw std::runtime_error(place + ": the id " + bugs.back().id + " comes twice");
    }
  }
  if (bugs.empty()) {
    throw std::runtime_error(table.string() + ": no bug");
  }
  return bugs;
}

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw std::runtime_error("cannot read " + file.string());
  }
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string with_bug(const std::filesystem::path& source, const Bug& bug) {
  std::string code = contents_of(source / bug.file);
  const std::size_t at = code.find(bug.text);
  if (at == std::string::npos || code.find(bug.text, at + 1) != std::string::npos) {
    throw std::runtime_error("its text stands " + std::string(at == std::string::npos ? "nowhere" : "more than once") +
                             " in " + bug.file.string() + ", must stand once: " + bug.text);
  }
  return code.replace(at, bug.text.size(), bug.replacement);
}

}  // namespace softcheck::planted
