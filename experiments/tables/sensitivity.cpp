#include "experiments/tables/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

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

template <class Cell>
std::string block(const std::vector<VariantLine>& lines, const std::string& title, Cell cell) {
  std::string text = fmt::format("{:<34}", title);
  for (const int size : lines.front().sizes) text += fmt::format(" {:>8}", size);
  for (const VariantLine& line : lines) {
    const std::string way = line.trained ? "trained with it" : "in place of softmax";
    text += fmt::format("\n{:<11} {:<19} {:>2}", line.head, way, line.models);
    for (const HeadSummary& summary : line.summaries) text += fmt::format(" {:>8}", cell(summary));
  }
  return text + "\n";
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

VariantLine variant_line(const std::string& name, bool trained, const std::vector<std::vector<SizeMeasure>>& networks,
                         std::size_t head) {
  if (networks.empty()) throw std::invalid_argument("variant_line: need measures of at least one network");
  VariantLine line{name, trained, networks.size(), {}, {}};
  for (std::size_t i = 0; i < networks[0].size(); ++i) {
    line.sizes.push_back(networks[0][i].size);
    line.summaries.push_back(summary_of(networks, i, head));
  }
  return line;
}

std::string to_text(const std::vector<VariantLine>& lines) {
  if (lines.empty()) return "";
  return block(lines, "accuracy, %", [](const HeadSummary& s) { return fmt::format("{:.1f}", s.accuracy.value); }) +
         block(lines, "largest coefficient",
               [](const HeadSummary& s) { return fmt::format("{:.4f}", s.largest.value); });
}

std::string to_csv(const std::vector<VariantLine>& lines) {
  std::string text = "head,trained,models,n,accuracy,accuracy_half_width,largest,entropy\n";
  for (const VariantLine& line : lines) {
    for (std::size_t i = 0; i < line.sizes.size(); ++i) {
      const HeadSummary& s = line.summaries[i];
      text += fmt::format("{},{},{},{},{},{},{},{}\n", line.head, line.trained ? "yes" : "no", line.models,
                          line.sizes[i], s.accuracy.value, s.accuracy.half_width, s.largest.value, s.entropy.value);
    }
  }
  return text;
}

}  // namespace softcheck::experiments
