#include "experiments/tables/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "experiments/tables/paper_table.hpp"

namespace softcheck::experiments {
namespace {

std::string line(const std::string& name, const std::vector<std::string>& cells, const std::string& last) {
  std::string text = fmt::format("{:<40}", name);
  for (const std::string& cell : cells) text += fmt::format(" {:>12}", cell);
  return text + fmt::format(" {:>9}\n", last);
}

std::string cell_of(double baseline, double adaptive) { return fmt::format("{:.1f}->{:.1f}", baseline, adaptive); }

const AccuracyRow* row_of(const Reading& reading, int size) {
  const auto found = std::ranges::find(reading.table, size, &AccuracyRow::size);
  return found == reading.table.end() ? nullptr : &*found;
}

}  // namespace

std::string reading_name(const std::string& options) {
  std::istringstream words(options);
  std::string name;
  for (std::string word; words >> word;) {
    const bool tells = word.starts_with("decay=") || word.starts_with("biases=") || word.starts_with("schedule=");
    if (tells) name += (name.empty() ? "" : " ") + word;
  }
  return name;
}

std::string to_text(const std::vector<Reading>& readings) {
  std::vector<std::string> sizes, papers;
  for (const PaperColumn& column : paper_table) {
    sizes.push_back(std::to_string(column.size));
    papers.push_back(cell_of(column.baseline, column.adaptive));
  }
  std::string text = line("reading", sizes, "distance") + line("the paper, ten seeds", papers, "");
  const Reading* closest = nullptr;
  double least = 0;
  for (const Reading& reading : readings) {
    std::vector<std::string> cells;
    for (const PaperColumn& column : paper_table) {
      const AccuracyRow* const row = row_of(reading, column.size);
      cells.push_back(row == nullptr ? "-" : cell_of(row->baseline.accuracy.value, row->adaptive.accuracy.value));
    }
    const double distance = distance_to_paper(reading.table);
    text += line(reading.name, cells, fmt::format("{:.2f}", distance));
    if (closest == nullptr || distance < least) {
      closest = &reading;
      least = distance;
    }
  }
  if (closest != nullptr) text += fmt::format("closest: {}, {:.2f} percent away\n", closest->name, least);
  return text;
}

std::string to_csv(const std::vector<Reading>& readings) {
  std::string text = "reading,n,baseline,adaptive,paper_baseline,paper_adaptive\n";
  for (const Reading& reading : readings) {
    for (const AccuracyRow& row : reading.table) {
      const PaperColumn* const paper = paper_column(row.size);
      text += fmt::format("{},{},{},{},{}\n", reading.name, row.size, row.baseline.accuracy.value,
                          row.adaptive.accuracy.value,
                          paper == nullptr ? "," : fmt::format("{},{}", paper->baseline, paper->adaptive));
    }
  }
  return text;
}

}  // namespace softcheck::experiments
