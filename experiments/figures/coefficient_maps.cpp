#include "experiments/figures/coefficient_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "experiments/figures/attention_row.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

constexpr int smallest = 16;  // and how many items are shown
constexpr int sets = 32;

std::string header(bool adaptive) {
  return fmt::format("n,set,rank,priority,logit,coefficient{}\n", adaptive ? ",adaptive coefficient" : "");
}

std::vector<std::size_t> highest_first(const std::vector<float>& priorities) {
  std::vector<std::size_t> order(priorities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + smallest, order.end(),
                    [&](std::size_t a, std::size_t b) { return priorities[a] > priorities[b]; });
  order.resize(smallest);
  return order;
}

std::string lines_of(const AttentionRow& row, int set, bool adaptive) {
  const std::vector<double> plain = coefficients_of(row.logits);
  const std::vector<double> cooled =
      adaptive ? coefficients_of(row.logits, theory::inverse_temperature(entropy_of(plain))) : plain;
  std::string text;
  int rank = 0;
  for (const std::size_t i : highest_first(row.priorities)) {
    text += fmt::format("{},{},{},{:.9g},{:.9g},{:.17g}", row.size, set, ++rank, row.priorities[i], row.logits[i],
                        plain[i]);
    text += adaptive ? fmt::format(",{:.17g}\n", cooled[i]) : "\n";
  }
  return text;
}

struct Frame {
  int size = 0;
  std::string lines;  // of the table
};

// Frames side by side between two heights, shares of the picture's.
struct Place {
  const char* label;
  int column;  // of the table
  double bottom, top;
  bool with_sizes;
};

std::string row_of_frames(const std::vector<Frame>& frames, const Place& place) {
  constexpr double first = 0.06, end = 0.93;  // the scale is at the right
  const double step = (end - first) / static_cast<double>(frames.size());
  std::string text = fmt::format(
      "set bmargin at screen {}\nset tmargin at screen {}\nset ylabel '{}' offset 1, 0\n"
      "set ytics ('1' 1, '8' 8, '16' 16, '24' 24, '32' 32) scale 0 offset 0.5, 0\n",
      place.bottom, place.top, place.label);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const double left = first + step * static_cast<double>(f);
    if (f == 1) text += "unset ylabel\nunset ytics\nunset colorbox\nunset label 1\n";
    const std::string title =
        place.with_sizes ? fmt::format("set title 'n = {}' offset 0, -0.7", frames[f].size) : "unset title";
    text += fmt::format(
        "set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n{}\nplot $n{} using 3:2:{} with image\n", left,
        left + 0.92 * step, title, frames[f].size, place.column);
  }
  return text;
}

// White to dark blue: lightness falls throughout, so that it can be read in grey, too.
constexpr const char* style = R"(
set palette defined (0 '#ffffff', 0.3 '#56b4e9', 0.65 '#0072b2', 1 '#00203a')
set cbrange [0:1]
set border 15
unset grid
unset key
set xrange [0.5:16.5]
set yrange [32.5:0.5]
set xtics ('1' 1, '8' 8) scale 0 offset 0, 0.4
set cblabel 'coefficient' offset 0.5, 0
set colorbox user origin screen 0.942, screen 0.2 size screen 0.012, screen 0.6
)";

std::string script_of(const std::vector<Frame>& frames, bool adaptive) {
  std::string text = style;
  for (const Frame& frame : frames) text += data_block(fmt::format("n{}", frame.size), header(adaptive) + frame.lines);
  text += "set multiplot\n";
  text += "set label 1 'the 16 items of highest priority, highest first' at screen 0.495, 0.035 center\n";
  if (adaptive) {
    text += row_of_frames(frames, {"set, softmax", 6, 0.55, 0.94, true});
    text += row_of_frames(frames, {"set, adaptive temperature", 7, 0.1, 0.49, false});
  } else {
    text += row_of_frames(frames, {"set", 6, 0.16, 0.88, true});
  }
  return text + "unset multiplot\n";
}

}  // namespace

Figure coefficient_maps(const std::string& name, const Floats& parameters, const CoefficientMapOptions& options,
                        const std::function<void(const std::string&)>& progress) {
  std::vector<Frame> frames;
  std::string table = header(options.adaptive);
  for (int size = smallest; size <= options.largest; size *= 2) {
    if (progress) progress(fmt::format("32 sets of {}", size));
    frames.push_back({size, ""});
    int set = 0;
    for_each_row(parameters, {options.seed, 1}, size, sets,
                 [&](const AttentionRow& row) { frames.back().lines += lines_of(row, ++set, options.adaptive); });
    table += frames.back().lines;
  }
  if (frames.empty()) {
    throw std::invalid_argument("coefficient_maps: need largest >= 16, got " + std::to_string(options.largest));
  }
  return {{{name, table}}, {{name, 1320, options.adaptive ? 640 : 380, script_of(frames, options.adaptive)}}};
}

}  // namespace softcheck::experiments
