#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

constexpr double width = 860, height = 420, left = 70, right = 840, top = 56, bottom = 330;
// Okabe and Ito's palette.
constexpr std::array colours{"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

// A logarithmic axis across the picture.
struct Axis {
  double from, to;  // logarithms
  double begin, end;
  double at(double logarithm) const { return begin + (logarithm - from) / (to - from) * (end - begin); }
};

// Below this range all weights are nearly equal, above it they vanish.
bool in_picture(const ArgumentError& error) { return error.argument >= 0x1p-30 && error.argument <= 0x1p10; }

double reported_ulps(double ulps) { return std::log10(std::max(ulps, 0.01)); }

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, xml_text(text));
}

std::string grid(const Axis& across, const Axis& up) {
  std::string svg;
  for (double k = std::ceil(across.from / 4) * 4; k <= across.to; k += 4) {
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#DDDDDD\"/>\n", across.at(k),
                       top, bottom);
    svg += text_at(across.at(k), bottom + 16, "middle", fmt::format("2^{}", k));
  }
  for (double k = std::ceil(up.from); k <= up.to; ++k) {
    svg += fmt::format("<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\" stroke=\"#DDDDDD\"/>\n", up.at(k),
                       left, right);
    svg += text_at(left - 6, up.at(k) + 4, "end", fmt::format("{:g}", std::pow(10, k)));
  }
  return svg + text_at((left + right) / 2, bottom + 34, "middle", "|x|, the distance from the maximum") +
         fmt::format("<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">ulp</text>\n",
                     (top + bottom) / 2);
}

template <class Height>
std::string line_of(const ExhaustiveJudgement& judgement, std::size_t enumeration, const Axis& across, const Axis& up,
                    Height height_of, const std::string& style) {
  std::string points;
  for (const ArgumentError& error : judgement.errors) {
    if (error.enumeration != enumeration || !in_picture(error) || !(height_of(error) > 0)) continue;
    points +=
        fmt::format("{:.1f},{:.1f} ", across.at(std::log2(error.argument)), up.at(reported_ulps(height_of(error))));
  }
  return points.empty()
             ? ""
             : fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", points.substr(0, points.size() - 1), style);
}

}  // namespace

std::string to_svg(const ExhaustiveJudgement& judgement, const std::string& title, const std::string& origin) {
  Axis across{0, 1, left, right}, up{-2, 1, bottom, top};
  bool first = true;
  for (const ArgumentError& error : judgement.errors) {
    if (!in_picture(error)) continue;
    const double place = std::log2(error.argument);
    across.from = first ? place : std::min(across.from, place);
    across.to = first ? place + 1 : std::max(across.to, place);
    up.to = std::max({up.to, reported_ulps(error.ulps), reported_ulps(error.allowed_ulps)});
    first = false;
  }
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n",
      width, height, xml_text(origin));
  svg += text_at(left, 24, "start", title);
  svg +=
      text_at(left, 42, "start", "worst error of each sixteenth of a binade; dashed: what the contract allows there");
  svg += grid(across, up);
  double legend = bottom + 52;
  for (std::size_t k = 0; k < judgement.statements.size(); ++k) {
    const char* colour = colours[k % colours.size()];
    const std::string line = line_of(
        judgement, k, across, up, [](const ArgumentError& error) { return error.ulps; },
        fmt::format("stroke=\"{}\" stroke-width=\"1.5\"", colour));
    if (line.empty()) continue;
    svg += line_of(
        judgement, k, across, up, [](const ArgumentError& error) { return error.allowed_ulps; },
        fmt::format("stroke=\"{}\" stroke-dasharray=\"4 3\"", colour));
    svg += line;
    svg +=
        fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"18\" height=\"3\" fill=\"{}\"/>\n", left, legend - 5, colour);
    svg += text_at(left + 24, legend, "start", judgement.statements[k].name);
    legend += 17;
  }
  return svg + "</svg>\n";
}

std::string to_csv(const ExhaustiveJudgement& judgement, const std::string& origin) {
  std::string csv = origin + "enumeration,argument,worst_ulps,allowed_ulps,share\n";
  for (const ArgumentError& error : judgement.errors) {
    csv += fmt::format("\"{}\",{},{:.4g},{:.4g},{:.4g}\n", judgement.statements[error.enumeration].name,
                       numerics::hex_float(error.argument), error.ulps, error.allowed_ulps, error.share);
  }
  return csv;
}

}  // namespace softcheck::proptests
