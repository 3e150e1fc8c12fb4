// softcheck report: the files of the run verbs as one HTML page without other files.

#include "proptests/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "library/build_info.hpp"

namespace softcheck::cli {
namespace {

struct ReportFlags {
  std::string results = "results";
  std::string out = "softcheck.html";
};

// Longer tables are cut; their files have the other rows.
constexpr std::size_t reported_row_count = 24;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw InputError(malformed, fmt::format("report: need a file that can be read, got '{}'", path.string()));
  return text;
}

struct Entry {
  std::string_view name, text;
};

// Folders of softcheck run: first those of the paper, in its order.
constexpr Entry titles[] = {{"table-1", "Table 1: accuracy and entropy against the size of sets"},
                            {"figure-2", "Figure 2: coefficients as sets grow"},
                            {"figure-3", "Figure 3: a language model's heads"},
                            {"spreads", "Spreads of a language model's heads"},
                            {"figure-5", "Figure 5: entropy against temperature"},
                            {"figure-6", "Figure 6: the temperature fit"},
                            {"figure-7", "Figure 7: with adaptive temperature"},
                            {"figure-8", "Figure 8: language models on algorithms"},
                            {"adaptive-language", "Adaptive temperature at inference in a language model"},
                            {"figure-9", "Figure 9: the spread during training"},
                            {"sensitivity", "Sensitivity: what the paper leaves open"},
                            {"variants", "Alternatives to softmax"},
                            {"certificates", "Certificates of the networks"}};

// By the picture's name; a name that ends in _ is a prefix.
constexpr Entry captions[] = {
    {"table_1",
     "Accuracy falls and entropy rises with the size of the set; adaptive temperature delays both. Bars are "
     "95 % intervals over the networks, open symbols the paper's numbers."},
    {"figure_2",
     "A line for each set, the item of highest priority at the left. A sharp head has a dark first column "
     "and nothing else; as sets grow, the coefficients spread."},
    {"figure_3",
     "Mean entropy of the rows of each head, in nats: it grows with the number of items in every layer that "
     "disperses."},
    {"spreads",
     "Of every head by layer: the mean and the largest spread of its rows on a text, and the spread that no input "
     "exceeds. The band is the paper's Gemma 2B."},
    {"figure_5",
     "Entropy of ten logits in equal steps rises with the temperature (Proposition 3.2); a larger spread "
     "shifts the curve."},
    {"figure_6_sizes", "The fitted temperatures on sets that no fit saw: accuracy, largest coefficient and entropy."},
    {"figure_6",
     "For each set the inverse of the temperature that serves it best, against its entropy, and the fitted "
     "polynomials."},
    {"figure_7",
     "Figure 2 with softmax above and adaptive temperature below: coefficients stay sharp for larger sets."},
    {"figure_8",
     "Problems solved exactly (lines) and characters that are right (dashed) against their size; grey sizes "
     "are those of the training."},
    {"figure_9", "The observed spread of logits stays below the bounds of Proposition 3.1 at every step."},
    {"sensitivity", "Table 1 for each reading of the paper's training; circles are the paper's numbers."},
    {"variants_in_place", "Other maps of logits to coefficients in the same networks, in place of softmax."},
    {"variants_trained", "Networks that were trained with these maps from the start."},
    {"growth", "Time against the number of items, both axes logarithmic: the slope is the power."},
    {"exhaustive_", "The largest error against the argument, of every input of the format."},
    {"survivors_matrix", "Which planted bug each published test accepts."},
    {"survivors", "How many planted bugs each published test accepts."},
    {"survivors_softmax", "The same for softmax in f32."},
};

// The page embeds a picture as an image, so that its file cannot run a script or load anything.
std::string picture(const std::string& name, const std::string& svg) {
  const auto* caption = std::ranges::find_if(captions, [&](const Entry& entry) {
    return name == std::string(entry.name) + ".svg" || (entry.name.ends_with('_') && name.starts_with(entry.name));
  });
  return fmt::format(
      "<figure><img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\"><figcaption>{}</figcaption></figure>\n",
      proptests::xml_text(name), proptests::base64(svg),
      caption == std::end(captions) ? proptests::xml_text(name) : std::string(caption->text));
}

// Rounds a number with more than four digits.
std::string shortened(const std::string& cell) {
  double value = 0;
  const char* end = cell.data() + cell.size();
  const bool is_number = std::from_chars(cell.data(), end, value).ptr == end;
  return is_number && cell.find_first_of(".e") != cell.npos ? fmt::format("{:.4g}", value) : proptests::xml_text(cell);
}

std::string cells(const std::string& line, const char* tag) {
  std::string text = "<tr>";
  std::istringstream columns(line);
  for (std::string cell; std::getline(columns, cell, ',');) text += fmt::format("<{0}>{1}</{0}>", tag, shortened(cell));
  return text + "</tr>\n";
}

// Lines that begin with # have the origin of the table; then follow names and rows. A short table is shown unfolded.
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
  const bool is_whole = count <= reported_row_count + 1;
  std::string text =
      fmt::format("<details{}><summary>{} ({} rows)</summary>\n<div class=\"wide\"><table>\n{}</table></div>\n",
                  is_whole ? " open" : "", proptests::xml_text(name), count == 0 ? 0 : count - 1, rows);
  if (!is_whole) text += fmt::format("<p>... and {} more in the file</p>\n", count - 1 - reported_row_count);
  if (!origin.empty())
    text += fmt::format("<details><summary>how it was made</summary>\n<pre>{}</pre></details>\n", origin);
  return text + "</details>\n";
}

std::string plain(const std::string& name, const std::string& text) {
  return fmt::format("<details><summary>{}</summary>\n<pre>{}</pre></details>\n", proptests::xml_text(name),
                     proptests::xml_text(text));
}

// Pictures before tables before texts, each in the order of its name.
int rank_of(const std::filesystem::path& path) {
  const std::string kind = path.extension().string();
  return kind == ".svg" ? 0 : kind == ".csv" ? 1 : kind == ".txt" ? 2 : 3;
}

struct Section {
  std::string name, title;  // name of the folder
  std::size_t place = 0;
  std::vector<std::filesystem::path> files;
};

std::vector<Section> sections_in(const std::filesystem::path& results) {
  std::map<std::string, std::vector<std::filesystem::path>> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(results, error)) {
    if (!entry.is_regular_file() || rank_of(entry.path()) > 2) continue;
    folders[std::filesystem::relative(entry.path().parent_path(), results).string()].push_back(entry.path());
  }
  if (error)
    throw InputError(usage, fmt::format("--results: need a folder, got '{}': {}", results.string(), error.message()));
  if (folders.empty()) {
    throw InputError(usage,
                     fmt::format("--results: need results of softcheck run, found none in '{}'", results.string()));
  }
  std::vector<Section> sections;
  for (auto& [name, files] : folders) {
    std::ranges::sort(files, {}, [](const std::filesystem::path& path) { return std::pair(rank_of(path), path); });
    const auto* known = std::ranges::find(titles, std::filesystem::path(name).filename().string(), &Entry::name);
    sections.push_back({name, known == std::end(titles) ? name : std::string(known->text),
                        static_cast<std::size_t>(known - std::begin(titles)), std::move(files)});
  }
  std::ranges::stable_sort(sections, {}, &Section::place);
  return sections;
}

std::string page(const std::filesystem::path& results) {
  const std::vector<Section> sections = sections_in(results);
  const BuildInfo& build = this_build();
  std::string text = proptests::page_head("softcheck: results");
  text += fmt::format(
      "<h1>softcheck: results</h1>\n<p>The tables and figures of \"Softmax is not Enough\", made again by softcheck {} "
      "(commit {}, {}, {}), then what goes beyond the paper. Each table and text has the version, commit, command, "
      "seed "
      "and models that made it.</p>\n<ul>\n",
      proptests::xml_text(build.version), proptests::xml_text(build.commit), proptests::xml_text(build.compiler),
      proptests::xml_text(build.build_type));
  for (const Section& section : sections)
    text += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", proptests::xml_text(section.name),
                        proptests::xml_text(section.title));
  text += "</ul>\n";
  for (const Section& section : sections) {
    text += fmt::format("<section><h2 id=\"{}\">{}</h2>\n", proptests::xml_text(section.name),
                        proptests::xml_text(section.title));
    for (const std::filesystem::path& path : section.files) {
      const auto show = rank_of(path) == 0 ? picture : rank_of(path) == 1 ? table : plain;
      text += show(path.filename().string(), read(path));
    }
    text += "</section>\n";
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
