// The matrix and the shares as SVG 1.1. The colours of Okabe and Ito's palette are distinguishable with any colour
// vision; accepted cells also have a dot, for print.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "judge/survivors/survivor_matrix.hpp"

namespace softcheck::proptests {
namespace {

constexpr int cell_width = 11;
constexpr int left_margin = 230;
constexpr int top_margin = 118;
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

// The planted bugs only: verdicts on correct kernels are shown as a column of numbers.
std::vector<std::size_t> bugs_of(const SurvivorMatrix& matrix) {
  std::vector<std::size_t> bugs;
  for (std::size_t i = 0; i < matrix.kernels.size(); ++i) {
    if (matrix.kernels[i].kind() == ZooKernelKind::bug) bugs.push_back(i);
  }
  return bugs;
}

struct Picture {
  const SurvivorMatrix& matrix;
  std::vector<std::size_t> bugs;  // the columns; empty for a picture of the shares alone
  int bar_width;
  int head;  // height above the first line
  int foot;  // height below the last line
  int cell_height;

  int lines() const { return static_cast<int>(matrix.lines.size()); }
  int column(std::size_t index) const { return left_margin + static_cast<int>(index) * cell_width; }
  int first_checker() const {
    const std::vector<Criterion>& criteria = matrix.criteria;
    return static_cast<int>(std::ranges::find(criteria, true, &Criterion::checker) - criteria.begin());
  }
  bool has_checkers() const { return first_checker() + 1 < lines(); }
  int line(int index) const {
    const int heading = has_checkers() && index >= first_checker() ? 24 : 0;
    return head + index * cell_height + heading + (index + 1 == lines() ? 6 : 0);
  }
  int bars() const { return bugs.empty() ? left_margin + 170 : column(bugs.size()) + bar_gap; }
  int bottom() const { return line(lines() - 1) + cell_height; }
  int width() const { return bars() + bar_width + 116; }
  int height() const { return bottom() + foot; }
  int baseline() const { return cell_height / 2 + 4; }
};

std::string name(const Picture& picture, int index) {
  const SurvivorLine& line = picture.matrix.lines[static_cast<std::size_t>(index)];
  return text_at(left_margin - 8, picture.line(index) + picture.baseline(), line.name,
                 {.anchor = "end", .bold = index + 1 == picture.lines()});
}

std::string operation(const Picture& picture, int index) {
  const auto place = static_cast<std::size_t>(index);
  const std::vector<Criterion>& criteria = picture.matrix.criteria;
  const std::string text = place < criteria.size() ? fmt::format("{} {}", criteria[place].op,
                                                                 numerics::properties(criteria[place].format).name)
                                                   : "all ops, all dtypes";
  return text_at(left_margin, picture.line(index) + picture.baseline(), text, {.size = 11, .colour = faint_ink});
}

std::string cells(const Picture& picture, int index) {
  const SurvivorLine& line = picture.matrix.lines[static_cast<std::size_t>(index)];
  const int y = picture.line(index);
  std::string svg;
  for (std::size_t i = 0; i < picture.bugs.size(); ++i) {
    const CriterionVerdict verdict = line.verdicts[picture.bugs[i]];
    if (verdict == CriterionVerdict::not_applicable) continue;
    const bool accepted = verdict == CriterionVerdict::accepted;
    const int x = picture.column(i);
    svg += box(x, y + 1, cell_width - 1, picture.cell_height - 2, accepted ? accepted_colour : rejected_colour);
    if (accepted) svg += dot(x + cell_width / 2, y + picture.cell_height / 2);
  }
  return svg;
}

std::string share(const Picture& picture, int index) {
  const SurvivorLine& line = picture.matrix.lines[static_cast<std::size_t>(index)];
  const SurvivorLine::Count bugs = picture.matrix.count(line, ZooKernelKind::bug);
  const SurvivorLine::Count correct = picture.matrix.count(line, ZooKernelKind::correct);
  const int y = picture.line(index);
  const int length = bugs.applicable == 0 ? 0 : static_cast<int>(bugs.accepted * picture.bar_width / bugs.applicable);
  const bool ours = index + 1 == picture.lines();
  const int right = picture.bars() + picture.bar_width;
  std::string svg = box(picture.bars(), y + 1, picture.bar_width, picture.cell_height - 2, rejected_colour);
  svg += box(picture.bars(), y + 1, length, picture.cell_height - 2, accepted_colour);
  svg += text_at(right + 50, y + picture.baseline(), fmt::format("{}/{}", bugs.accepted, bugs.applicable),
                 {.anchor = "end", .bold = ours});
  return svg + text_at(right + 106, y + picture.baseline(),
                       fmt::format("{}/{}", correct.applicable - correct.accepted, correct.applicable),
                       {.colour = faint_ink, .anchor = "end", .bold = correct.accepted < correct.applicable});
}

// Stacks labels in as few lines as possible without overlaps.
class Stack {
 public:
  /// The line, from 0, for a label of `letters` characters that begins at x.
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

std::string column_name(const ZooKernel& bug) {
  std::string name = bug.symbol.starts_with("mutant_") ? bug.symbol.substr(7) : bug.symbol;
  std::ranges::replace(name, '_', ' ');
  return bug.dtype == "f32" ? name : name + ", " + bug.dtype;
}

// The classes of bugs above their columns, the bugs' names below.
std::string columns(const Picture& picture) {
  std::string svg;
  Stack classes;
  for (std::size_t i = 0; i < picture.bugs.size(); ++i) {
    const ZooKernel& bug = picture.matrix.kernels[picture.bugs[i]];
    svg += text_at(picture.column(i) + cell_width / 2 + 4, picture.bottom() + 8, column_name(bug),
                   {.size = 10, .anchor = "end", .rotation = -90});
    if (i > 0 && picture.matrix.kernels[picture.bugs[i - 1]].bug_class == bug.bug_class) continue;
    const int x = picture.column(i) - 1;
    const int y = picture.head - 5 - 12 * classes.line_for(x, bug.bug_class.size());
    svg += fmt::format("<path d=\"M{0} {1}V{2}\" stroke=\"{3}\" stroke-width=\"0.7\"/>\n", x, y - 9, picture.bottom(),
                       faint_ink);
    svg += text_at(x + 3, y, bug.bug_class, {.size = 10, .colour = faint_ink});
  }
  return svg;
}

std::string bar_scale(const Picture& picture) {
  const int left = picture.bars(), right = left + picture.bar_width, y = picture.head - 5;
  const TextStyle to_the_right{.size = 10, .colour = faint_ink, .anchor = "end"};
  return text_at(left, y - 17, "share of planted bugs accepted", {.size = 11, .colour = faint_ink}) +
         text_at(left, y, "0 %", {.size = 10, .colour = faint_ink}) + text_at(right, y, "100 %", to_the_right) +
         text_at(right + 50, y, "bugs", to_the_right) + text_at(right + 106, y - 13, "false", to_the_right) +
         text_at(right + 106, y, "alarms", to_the_right);
}

std::string legend(const Picture& picture) {
  const int y = 48;
  return box(16, y - 11, cell_width - 1, picture.cell_height - 4, accepted_colour) + dot(16 + cell_width / 2, y - 4) +
         text_at(34, y, "bug accepted") + box(130, y - 11, cell_width - 1, picture.cell_height - 4, rejected_colour) +
         text_at(148, y, "bug rejected") +
         text_at(244, y, "blank: not of the test's op or dtype", {.colour = faint_ink}) +
         text_at(left_margin, picture.head - 46, "planted bug, by class", {.size = 11, .colour = faint_ink});
}

std::string svg_of(const Picture& picture, const SurvivorOrigin& origin) {
  constexpr const char* title = "Planted bugs that published tests accept";
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n",
      picture.width(), picture.height());
  svg += fmt::format("<title>{}</title>\n", title);
  svg += box(0, 0, picture.width(), picture.height(), "#FFFFFF");
  svg += text_at(16, 26, title, {.size = 17, .bold = true}) + bar_scale(picture);
  if (!picture.bugs.empty()) svg += legend(picture) + columns(picture);
  for (int line = 0; line < picture.lines(); ++line) {
    if (picture.has_checkers() && line == picture.first_checker()) {
      svg += text_at(left_margin - 8, picture.line(line) - 6,
                     "tools that decide about any kernel:", {.size = 11, .colour = faint_ink, .anchor = "end"});
    }
    svg += name(picture, line) + share(picture, line);
    svg += picture.bugs.empty() ? operation(picture, line) : cells(picture, line);
  }
  svg += text_at(16, picture.height() - 12,
                 fmt::format("{} (commit {}): {}", origin.version, origin.commit, origin.command),
                 {.size = 10, .colour = faint_ink});
  return svg + "</svg>\n";
}

}  // namespace

std::string to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  return svg_of(
      {.matrix = matrix, .bugs = bugs_of(matrix), .bar_width = 170, .head = top_margin, .foot = 230, .cell_height = 18},
      origin);
}

std::string shares_to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  return svg_of({.matrix = matrix, .bugs = {}, .bar_width = 360, .head = 76, .foot = 40, .cell_height = 15}, origin);
}

}  // namespace softcheck::proptests
