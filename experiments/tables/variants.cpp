#include "experiments/tables/variants.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace softcheck::experiments {
namespace {

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
