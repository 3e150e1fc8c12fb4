#include "proptests/engine/corpus.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

namespace fs = std::filesystem;

bool is_property_name(std::string_view name) {
  const auto is_word = [](std::string_view word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  };
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && is_word(name.substr(0, dot)) && is_word(name.substr(dot + 1));
}

// A corpus is written by hand, one case per line; a larger file is none. Pipes are refused, since they may have no
// writer.
constexpr std::uintmax_t largest_corpus = std::uintmax_t{64} << 20;

void require_readable(const fs::path& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw std::runtime_error("read_corpus: need a regular file, got " + path.string());
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest_corpus) {
    throw std::runtime_error("read_corpus: need at most " + std::to_string(largest_corpus) + " bytes, " +
                             path.string() + " has " + std::to_string(size));
  }
}

void read_file(const fs::path& path, std::vector<CorpusEntry>& entries) {
  require_readable(path);
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("read_corpus: cannot read " + path.string());
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    const std::string where = path.string() + ":" + std::to_string(number);
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || !is_property_name(std::string_view(line).substr(0, tab))) {
      throw std::invalid_argument(where + ": need Suite.Sentence<TAB>case, got \"" + line + "\"");
    }
    std::string text = line.substr(tab + 1);
    if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.find_first_of("\t\r") != std::string::npos) {
      throw std::invalid_argument(where + ": need one case without blanks around it, got \"" + text + "\"");
    }
    entries.push_back({line.substr(0, tab), std::move(text), where});
  }
  if (stream.bad()) throw std::runtime_error("read_corpus: cannot read " + path.string() + " to its end");
}

void add(Outcome& total, const Outcome& outcome) {
  total.cases += outcome.cases;
  total.seconds += outcome.seconds;
  total.verdict = outcome.verdict;
  total.counterexample = outcome.counterexample;
  total.note = outcome.note;
  for (const auto& [claim, summary] : outcome.claims) {
    ClaimSummary& sum = total.claims[claim];
    sum.decided += summary.decided;
    sum.undecided += summary.undecided;
    sum.tightest_slack = std::fmax(sum.tightest_slack, summary.tightest_slack);
  }
}

}  // namespace

std::vector<CorpusEntry> read_corpus(const fs::path& path) {
  std::vector<fs::path> files;
  if (fs::is_directory(path)) {
    for (const fs::directory_entry& file : fs::directory_iterator(path)) {
      if (file.path().extension() == ".txt") files.push_back(file.path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(path);
  }
  if (files.empty()) throw std::runtime_error("read_corpus: no *.txt in " + path.string());
  std::vector<CorpusEntry> entries;
  for (const fs::path& file : files) read_file(file, entries);
  return entries;
}

std::vector<CorpusEntry> entries_of(std::span<const CorpusEntry> corpus, const Property& property) {
  std::vector<CorpusEntry> entries;
  std::copy_if(corpus.begin(), corpus.end(), std::back_inserter(entries),
               [&](const CorpusEntry& entry) { return entry.property == property.name(); });
  return entries;
}

Outcome run_with_corpus(const Property& property, std::span<const CorpusEntry> corpus, const RunOptions& options) {
  Outcome total;
  for (const CorpusEntry& entry : entries_of(corpus, property)) {
    Outcome outcome;
    try {
      outcome = property.replay(entry.case_text);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(entry.where + ": " + error.what());
    }
    add(total, outcome);
    if (outcome.verdict != numerics::Verdict::proved) {
      total.note = entry.where + (outcome.note.empty() ? "" : ": " + outcome.note);
      return total;
    }
  }
  add(total, property.run(options));
  return total;
}

}  // namespace softcheck::proptests
