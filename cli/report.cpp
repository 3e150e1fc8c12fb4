// softcheck report: what the run verbs have written, as one HTML page that needs nothing else.

#include "proptests/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {
namespace {

struct ReportFlags {
  std::string results = "results";
  std::string out = "softcheck.html";
};

// Longer tables are cut: their files have the rest.
constexpr std::size_t reported_row_count = 24;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw InputError(malformed, fmt::format("report: need a file that can be read, got '{}'", path.string()));
  return text;
}

// A picture is shown as an image: what is in its file can run no script and load nothing, whoever wrote it.
std::string picture(const std::string& name, const std::string& svg) {
  return fmt::format(
      "<figure><img alt=\"{0}\" src=\"data:image/svg+xml;base64,{1}\"><figcaption>{0}</figcaption></figure>\n",
      proptests::xml_text(name), proptests::base64(svg));
}

std::string cells(const std::string& line, const char* tag) {
  std::string text = "<tr>";
  std::istringstream columns(line);
  for (std::string cell; std::getline(columns, cell, ',');)
    text += fmt::format("<{0}>{1}</{0}>", tag, proptests::xml_text(cell));
  return text + "</tr>\n";
}

// Lines that begin with # say where a table is from; then come names and rows.
std::string table(const std::string& name, const std::string& csv) {
  std::string origin, rows;
  std::size_t count = 0;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) {
      origin += proptests::xml_text(line.substr(1)) + "\n";
    } else if (count++ <= reported_row_count) {
      rows += cells(line, count == 1 ? "th" : "td");
    }
  }
  std::string text = fmt::format(
      "<details><summary>{} ({} rows)</summary>\n<pre>{}</pre>\n<div class=\"wide\"><table>\n{}</table></div>\n",
      proptests::xml_text(name), count == 0 ? 0 : count - 1, origin, rows);
  if (count > reported_row_count + 1)
    text += fmt::format("<p>... and {} more in the file</p>\n", count - 1 - reported_row_count);
  return text + "</details>\n";
}

std::string plain(const std::string& name, const std::string& text) {
  return fmt::format("<h3>{}</h3>\n<pre>{}</pre>\n", proptests::xml_text(name), proptests::xml_text(text));
}

// Text before pictures before tables, each in the order of its name.
int rank_of(const std::filesystem::path& path) {
  const std::string kind = path.extension().string();
  return kind == ".txt" ? 0 : kind == ".svg" ? 1 : kind == ".csv" ? 2 : 3;
}

std::map<std::string, std::vector<std::filesystem::path>> files_in(const std::filesystem::path& results) {
  std::map<std::string, std::vector<std::filesystem::path>> sections;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results, error)) {
    if (!entry.is_regular_file() || rank_of(entry.path()) > 2) continue;
    sections[std::filesystem::relative(entry.path().parent_path(), results).string()].push_back(entry.path());
  }
  if (error)
    throw InputError(usage, fmt::format("--results: need a folder, got '{}': {}", results.string(), error.message()));
  if (sections.empty()) {
    throw InputError(usage,
                     fmt::format("--results: need results of softcheck run, found none in '{}'", results.string()));
  }
  for (auto& [name, files] : sections) {
    std::ranges::sort(files, {}, [](const std::filesystem::path& path) { return std::pair(rank_of(path), path); });
  }
  return sections;
}

std::string page(const std::filesystem::path& results) {
  const auto sections = files_in(results);
  const BuildInfo& build = this_build();
  std::string text = proptests::page_head("softcheck: results");
  text += fmt::format(
      "<h1>softcheck: results</h1>\n<p>Collected by softcheck {} (commit {}, {}, {}). Each text and table begins with "
      "the "
      "version, commit, command, seed and models that made it.</p>\n<ul>\n",
      proptests::xml_text(build.version), proptests::xml_text(build.commit), proptests::xml_text(build.compiler),
      proptests::xml_text(build.build_type));
  for (const auto& [name, files] : sections)
    text += fmt::format("<li><a href=\"#{0}\">{0}</a></li>\n", proptests::xml_text(name));
  text += "</ul>\n";
  for (const auto& [name, files] : sections) {
    text += fmt::format("<h2 id=\"{0}\">{0}</h2>\n", proptests::xml_text(name));
    for (const std::filesystem::path& path : files) {
      const auto show = rank_of(path) == 0 ? plain : rank_of(path) == 1 ? picture : table;
      text += show(path.filename().string(), read(path));
    }
  }
  return text + "</body>\n</html>\n";
}

int run_report(const ReportFlags& flags) {
  const std::string text = page(flags.results);
  as_input_error<std::exception>(usage, "--out: ", [&] { proptests::write_file_atomically(flags.out, text); });
  say("{}: {} KiB\n", flags.out, text.size() / 1024);
  return holds;
}

}  // namespace

void add_report_verb(Verb app) {
  auto [verb, flags] =
      app.add_verb<ReportFlags>("report", "Collect what softcheck run has written into one HTML page", run_report);
  verb.add_option("--results", flags.results, "Folder of tables, figures and texts", typed("DIR"), shown);
  verb.add_option("--out", flags.out, "The page; it needs no other file and no network", typed("FILE"), shown);
}

}  // namespace softcheck::cli
