// The matrix as SVG 1.1. Colours from Okabe and Ito's palette, told apart by people with any colour vision; accepted
// cells carry a dot besides, for print.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/survivors/survivor_report.hpp"

namespace softcheck::proptests {
namespace {

constexpr int cell_width = 11;
constexpr int cell_height = 18;
constexpr int left_margin = 230;
constexpr int top_margin = 118;
constexpr int bar_width = 170;
constexpr int bar_gap = 16;
constexpr const char* accepted_colour = "#D55E00";  // vermillion
constexpr const char* rejected_colour = "#BFD9EA";  // light sky blue
constexpr const char* ink = "#222222";
constexpr const char* faint_ink = "#5A5A5A";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '&') {
      result += "&amp;";
    } else if (letter == '<') {
      result += "&lt;";
    } else if (letter == '>') {
      result += "&gt;";
    } else {
      result += letter;
    }
  }
  return result;
}

struct TextStyle {
  int size = 12;
  const char* colour = ink;
  const char* anchor = "start";
  bool bold = false;
  int rotation = 0;
};

std::string text_at(int x, int y, std::string_view text, const TextStyle& style = {}) {
  const std::string turned =
      style.rotation == 0 ? "" : fmt::format(" transform=\"rotate({} {} {})\"", style.rotation, x, y);
  return fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n", x, y,
                     style.size, style.colour, style.anchor, style.bold ? " font-weight=\"bold\"" : "", turned,
                     escaped(text));
}

std::string box(int x, int y, int width, int height, const char* colour) {
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y, width, height, colour);
}

std::string dot(int x, int y) { return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"2\" fill=\"#FFFFFF\"/>\n", x, y); }

// The planted bugs alone: what a criterion says of correct kernels stands in a column of numbers.
std::vector<std::size_t> bugs_of(const SurvivorMatrix& matrix) {
  std::vector<std::size_t> bugs;
  for (std::size_t i = 0; i < matrix.kernels.size(); ++i) {
    if (matrix.kernels[i].kind() == SpecimenKind::bug) bugs.push_back(i);
  }
  return bugs;
}

struct Picture {
  const SurvivorMatrix& matrix;
  std::vector<std::size_t> bugs;

  int lines() const { return static_cast<int>(matrix.lines.size()); }
  int column(std::size_t index) const { return left_margin + static_cast<int>(index) * cell_width; }
  int line(int index) const { return top_margin + index * cell_height + (index + 1 == lines() ? 6 : 0); }
  int bars() const { return column(bugs.size()) + bar_gap; }
  int bottom() const { return line(lines() - 1) + cell_height; }
  int width() const { return bars() + bar_width + 110; }
  int height() const { return bottom() + 230; }
};

std::string cells(const Picture& picture, int index) {
  const SurvivorLine& line = picture.matrix.lines[static_cast<std::size_t>(index)];
  const int y = picture.line(index);
  const bool ours = index + 1 == picture.lines();
  std::string svg = text_at(left_margin - 8, y + 13, line.name, {.anchor = "end", .bold = ours});
  for (std::size_t i = 0; i < picture.bugs.size(); ++i) {
    const CriterionVerdict verdict = line.verdicts[picture.bugs[i]];
    if (verdict == CriterionVerdict::not_applicable) continue;
    const bool accepted = verdict == CriterionVerdict::accepted;
    const int x = picture.column(i);
    svg += box(x, y + 1, cell_width - 1, cell_height - 2, accepted ? accepted_colour : rejected_colour);
    if (accepted) svg += dot(x + cell_width / 2, y + cell_height / 2);
  }
  return svg;
}

std::string share(const Picture& picture, int index) {
  const SurvivorLine& line = picture.matrix.lines[static_cast<std::size_t>(index)];
  const SurvivorLine::Count bugs = picture.matrix.count(line, SpecimenKind::bug);
  const SurvivorLine::Count correct = picture.matrix.count(line, SpecimenKind::correct);
  const int y = picture.line(index);
  const int length = bugs.applicable == 0 ? 0 : static_cast<int>(bugs.accepted * bar_width / bugs.applicable);
  std::string svg = box(picture.bars(), y + 1, bar_width, cell_height - 2, rejected_colour);
  svg += box(picture.bars(), y + 1, length, cell_height - 2, accepted_colour);
  svg += text_at(picture.bars() + bar_width + 44, y + 13, fmt::format("{}/{}", bugs.accepted, bugs.applicable),
                 {.anchor = "end", .bold = index + 1 == picture.lines()});
  return svg + text_at(picture.bars() + bar_width + 100, y + 13,
                       fmt::format("{}/{}", correct.applicable - correct.accepted, correct.applicable),
                       {.colour = faint_ink, .anchor = "end"});
}

// Labels side by side in as few lines as keep them apart.
class Stack {
 public:
  /// The line, from 0, for a label of so many letters that begins at x.
  int line_for(int x, std::size_t letters) {
    constexpr int letter_width = 8;
    std::size_t line = 0;
    while (line < ends_.size() && ends_[line] > x) ++line;
    if (line == ends_.size()) ends_.push_back(0);
    ends_[line] = x + static_cast<int>(letters) * letter_width;
    return static_cast<int>(line);
  }

 private:
  std::vector<int> ends_;
};

std::string column_name(const Specimen& bug) {
  std::string name = bug.symbol.starts_with("mutant_") ? bug.symbol.substr(7) : bug.symbol;
  std::ranges::replace(name, '_', ' ');
  return bug.dtype == "f32" ? name : name + ", " + bug.dtype;
}

// The classes of bugs above their columns, the bugs' names below.
std::string columns(const Picture& picture) {
  std::string svg;
  Stack classes;
  for (std::size_t i = 0; i < picture.bugs.size(); ++i) {
    const Specimen& bug = picture.matrix.kernels[picture.bugs[i]];
    svg += text_at(picture.column(i) + cell_width / 2 + 4, picture.bottom() + 8, column_name(bug),
                   {.size = 10, .anchor = "end", .rotation = -90});
    if (i > 0 && picture.matrix.kernels[picture.bugs[i - 1]].bug_class == bug.bug_class) continue;
    const int x = picture.column(i) - 1;
    const int y = top_margin - 5 - 12 * classes.line_for(x, bug.bug_class.size());
    svg += fmt::format("<path d=\"M{0} {1}V{2}\" stroke=\"{3}\" stroke-width=\"0.7\"/>\n", x, y - 9, picture.bottom(),
                       faint_ink);
    svg += text_at(x + 3, y, bug.bug_class, {.size = 10, .colour = faint_ink});
  }
  return svg;
}

std::string legend(const Picture& picture, const SurvivorOrigin& origin) {
  std::string svg = text_at(16, 26, "Planted bugs that published tests accept", {.size = 17, .bold = true});
  const int y = 48;
  svg += box(16, y - 11, cell_width - 1, cell_height - 4, accepted_colour) + dot(16 + cell_width / 2, y - 4);
  svg += text_at(34, y, "bug accepted");
  svg += box(130, y - 11, cell_width - 1, cell_height - 4, rejected_colour) + text_at(148, y, "bug rejected");
  svg += text_at(244, y, "blank: not of the test's op or dtype", {.colour = faint_ink});
  svg += text_at(left_margin, top_margin - 46, "planted bug, by class", {.size = 11, .colour = faint_ink});
  svg += text_at(picture.bars(), top_margin - 22, "share of bugs accepted", {.size = 11, .colour = faint_ink});
  svg += text_at(picture.bars(), top_margin - 5, "0 %", {.size = 10, .colour = faint_ink});
  svg +=
      text_at(picture.bars() + bar_width, top_margin - 5, "100 %", {.size = 10, .colour = faint_ink, .anchor = "end"});
  svg += text_at(picture.bars() + bar_width + 44, top_margin - 5, "bugs",
                 {.size = 10, .colour = faint_ink, .anchor = "end"});
  svg += text_at(picture.bars() + bar_width + 100, top_margin - 18, "false",
                 {.size = 10, .colour = faint_ink, .anchor = "end"});
  svg += text_at(picture.bars() + bar_width + 100, top_margin - 5, "alarms",
                 {.size = 10, .colour = faint_ink, .anchor = "end"});
  return svg + text_at(16, picture.height() - 12,
                       fmt::format("{} (commit {}): {}", origin.version, origin.commit, origin.command),
                       {.size = 10, .colour = faint_ink});
}

}  // namespace

std::string to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  const Picture picture{matrix, bugs_of(matrix)};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n",
      picture.width(), picture.height());
  svg += "<title>Planted bugs that published tests accept</title>\n";
  svg += box(0, 0, picture.width(), picture.height(), "#FFFFFF");
  svg += legend(picture, origin) + columns(picture);
  for (int line = 0; line < picture.lines(); ++line) svg += cells(picture, line) + share(picture, line);
  return svg + "</svg>\n";
}

}  // namespace softcheck::proptests
