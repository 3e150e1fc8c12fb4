#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>
#include <vector>

#include "judge/results/tensor_report.hpp"

namespace softcheck::proptests {
namespace {

constexpr double picture_width = 860;
constexpr double panel_left = 76, panel_right = 836;
constexpr double panel_height = 190;
constexpr double head_line = 18;
// From Okabe and Ito's palette, which readers with any colour vision can distinguish.
constexpr const char* within_colour = "#0072B2";  // blue
constexpr const char* beyond_colour = "#D55E00";  // vermillion
constexpr const char* ink_colour = "#222222";
constexpr const char* faint_colour = "#5A5A5A";
constexpr const char* grid_colour = "#DDDDDD";

struct Lettering {
  double size = 12;
  const char* colour = ink_colour;
  const char* anchor = "start";
  bool bold = false;
  bool on_bars = false;  // drawn on bars: a white edge keeps it readable
};

std::string lettering(double x, double y, std::string_view text, const Lettering& style = {}) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\"{}{}>{}</text>\n",
                     x, y, style.size, style.colour, style.anchor, style.bold ? " font-weight=\"bold\"" : "",
                     style.on_bars ? " stroke=\"#FFFFFF\" stroke-width=\"3\" paint-order=\"stroke\"" : "",
                     xml_text(text));
}

// Text along an upward axis.
std::string upward_lettering(double x, double y, std::string_view text) {
  return fmt::format(
      "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" font-size=\"12\" fill=\"{}\" "
      "text-anchor=\"middle\">{}</text>\n",
      x, y, faint_colour, xml_text(text));
}

std::string bar(double x, double y, double width, double height, bool beyond) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x, y, width,
                     height, beyond ? beyond_colour : within_colour);
}

std::string stroke(double x1, double y1, double x2, double y2, const char* colour, std::string_view more = "") {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"{}/>\n", x1, y1, x2,
                     y2, colour, more);
}

// A part of the picture with its own axes.
struct Panel {
  double top;

  double bottom() const { return top + panel_height; }
  /// fraction   of the panel's height, from its bottom
  double height_at(double fraction) const { return bottom() - fraction * panel_height; }
  std::string tick(double fraction, std::string_view text) const {
    const double y = height_at(fraction);
    return stroke(panel_left, y, panel_right, y, grid_colour) +
           lettering(panel_left - 6, y + 4, text, {.size = 11, .colour = faint_colour, .anchor = "end"});
  }
  std::string axes() const {
    return stroke(panel_left, bottom(), panel_right, bottom(), ink_colour) +
           stroke(panel_left, top, panel_left, bottom(), ink_colour);
  }
};

// The share axis of the upper panel: linear from 0 to a little above the largest share, or logarithmic if that is far
// from 1.
class ShareAxis {
 public:
  explicit ShareAxis(const std::vector<double>& profile) {
    double largest = 0, smallest = 1;
    for (const double share : profile) {
      if (std::isfinite(share)) largest = std::max(largest, share);
      if (share > 0) smallest = std::min(smallest, share);
    }
    by_tens_ = largest > 4 || (largest > 0 && largest < 0.1);
    decades_above_ = std::max(1.0, std::ceil(std::log10(std::max(largest, 1.0))));
    decades_below_ = std::clamp(std::ceil(-std::log10(smallest)), 1.0, 4.0);
    top_ = std::max(1.25, std::ceil(largest * 4 + 0.25) / 4);
  }

  double fraction(double share) const {
    if (!by_tens_) return share / top_;
    if (share <= 0) return 0;
    return std::clamp((std::log10(share) + decades_below_) / (decades_above_ + decades_below_), 0.0, 1.0);
  }

  std::string ticks(const Panel& panel) const {
    std::string svg;
    if (!by_tens_) {
      const double step = top_ > 2 ? 0.5 : 0.25;
      for (double share = 0; share <= top_; share += step) svg += panel.tick(fraction(share), fmt::format("{}", share));
      return svg;
    }
    const double step = std::ceil((decades_above_ + decades_below_) / 8);
    for (double decade = -decades_below_; decade <= decades_above_; decade += step) {
      svg += panel.tick(fraction(std::pow(10.0, decade)), fmt::format("{:g}", std::pow(10.0, decade)));
    }
    return svg;
  }

 private:
  double top_ = 1, decades_above_ = 1, decades_below_ = 1;
  bool by_tens_ = false;
};

std::string infinity_mark(double x, double y) {
  return fmt::format("<path d=\"M{:.1f} {:.1f} l4 7 h-8 z\" fill=\"{}\"/>\n", x, y, beyond_colour);
}

std::string rows_panel(const Panel& panel, const std::vector<double>& profile, std::size_t rows) {
  const ShareAxis axis(profile);
  std::string svg = lettering(panel_left, panel.top - 16, "largest share of the threshold used", {.bold = true});
  svg += axis.ticks(panel);
  const auto stretches = static_cast<double>(std::max<std::size_t>(profile.size(), 1));
  const double width = (panel_right - panel_left) / stretches;
  bool any_infinite = false;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const bool infinite = !std::isfinite(profile[i]);
    const double x = panel_left + static_cast<double>(i) * width;
    const double y = panel.height_at(infinite ? 1 : axis.fraction(profile[i]));
    if (panel.bottom() - y > 0.005) svg += bar(x, y, width + 0.05, panel.bottom() - y, profile[i] > 1);
    // Neighbouring bars share a mark.
    const bool alone = i == 0 || std::isfinite(profile[i - 1]) || i % 8 == 0;
    if (infinite && alone) svg += infinity_mark(x + width / 2, panel.top - 9);
    any_infinite |= infinite;
  }
  if (any_infinite) {
    svg += lettering(panel_right, panel.top - 16, "\u25b2 wrong, and no threshold excuses it",
                     {.size = 11, .colour = beyond_colour, .anchor = "end"});
  }
  const double threshold = panel.height_at(axis.fraction(1));
  svg += stroke(panel_left, threshold, panel_right, threshold, ink_colour, " stroke-dasharray=\"5 3\"");
  svg += lettering(panel_right - 4, threshold - 4, "the threshold", {.size = 11, .anchor = "end", .on_bars = true}) +
         panel.axes();
  svg += lettering(panel_left, panel.bottom() + 16, "0", {.size = 11, .colour = faint_colour, .anchor = "middle"});
  if (rows > 1) {
    svg += lettering(panel_right, panel.bottom() + 16, fmt::format("{}", rows - 1),
                     {.size = 11, .colour = faint_colour, .anchor = "end"});
  }
  const std::string label = profile.size() < rows ? fmt::format("row, in {} stretches", profile.size()) : "row";
  svg += lettering((panel_left + panel_right) / 2, panel.bottom() + 16, label,
                   {.colour = faint_colour, .anchor = "middle"});
  return svg + upward_lettering(24, panel.top + panel_height / 2, "error / threshold");
}

// Logarithmic counts, so that one row among millions is visible.
std::string histogram_panel(const Panel& panel, const std::vector<std::size_t>& histogram) {
  const auto height = [](std::size_t count) { return std::log10(1 + static_cast<double>(count)); };
  std::size_t most = 1;
  for (const std::size_t count : histogram) most = std::max(most, count);
  const double whole = height(most) * 1.06;
  std::string svg = lettering(panel_left, panel.top - 16, "how many rows used so much", {.bold = true});
  svg += panel.tick(0, "0");
  for (std::size_t count = 1; count <= most; count *= 10)
    svg += panel.tick(height(count) / whole, fmt::format("{}", count));
  const double width = (panel_right - panel_left) / static_cast<double>(std::max<std::size_t>(histogram.size(), 1));
  const auto bins_to_1 = static_cast<std::size_t>(std::lround(1 / slack_bin_width));
  for (std::size_t i = 0; i < histogram.size(); ++i) {
    if (histogram[i] == 0) continue;
    const double y = panel.height_at(height(histogram[i]) / whole);
    svg += bar(panel_left + static_cast<double>(i) * width + 0.5, y, width - 1, panel.bottom() - y, i >= bins_to_1);
  }
  for (std::size_t i = 0; i < histogram.size(); i += bins_to_1 / 4) {
    const bool beyond = i + 1 == histogram.size();
    const double x = panel_left + (static_cast<double>(i) + (beyond ? 0.5 : 0)) * width;
    svg +=
        lettering(x, panel.bottom() + 16, beyond ? "more" : fmt::format("{}", static_cast<double>(i) * slack_bin_width),
                  {.size = 11, .colour = faint_colour, .anchor = "middle"});
  }
  const double threshold = panel_left + static_cast<double>(bins_to_1) * width;
  svg += stroke(threshold, panel.top, threshold, panel.bottom(), ink_colour, " stroke-dasharray=\"5 3\"");
  svg += lettering(threshold + 5, panel.top + 11, "the threshold", {.size = 11}) + panel.axes();
  svg += lettering((panel_left + panel_right) / 2, panel.bottom() + 34, "largest error / threshold of a row",
                   {.colour = faint_colour, .anchor = "middle"});
  return svg + upward_lettering(24, panel.top + panel_height / 2, "rows");
}

// Breaks the words into lines that fit the picture.
std::vector<std::string> wrapped(const std::string& words) {
  constexpr std::size_t longest_line = 110;
  std::vector<std::string> lines{""};
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (lines.back().size() + word.size() > longest_line) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

}  // namespace

std::string slack_picture(const TensorJudgement& judgement, const TensorTask& task,
                          const numerics::Contract& contract) {
  const std::size_t rows = rows_of_task(task);
  const std::string title = fmt::format("{} {} \u2192 {}: {}", to_string(task.op), properties(contract.input).name,
                                        properties(contract.output).name, to_string(judgement.verdict));
  double y = 28;
  std::string head = lettering(20, y, title, {.size = 16, .bold = true});
  for (const std::string& line : wrapped("contract: " + numerics::to_string(contract))) {
    head += lettering(20, y += head_line, line, {.colour = faint_colour});
  }
  std::string counts =
      fmt::format("{} of {} rows judged, {} failed", judgement.judged, rows, judgement.failed) + parameters_text(task);
  if (!judgement.ended_early.empty()) counts += "; " + judgement.ended_early;
  head += lettering(20, y += head_line, counts, {.colour = faint_colour});
  const Panel above{y + 48}, below{above.bottom() + 70};
  const double height = below.bottom() + 48;
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" "
             "height=\"{1:g}\" font-family=\"Helvetica, Arial, sans-serif\" role=\"img\">\n<title>{2}</title>\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
             picture_width, height, xml_text(title)) +
         head + rows_panel(above, judgement.profile, rows) + histogram_panel(below, judgement.histogram) + "</svg>\n";
}

}  // namespace softcheck::proptests
