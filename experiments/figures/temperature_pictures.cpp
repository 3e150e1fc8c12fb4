#include "experiments/figures/temperature_pictures.hpp"

#include <fmt/format.h>

#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

constexpr std::array head_colours{Colour::black, Colour::vermillion, Colour::sky, Colour::blue};
constexpr std::array head_points{6, 5, 9, 7};

// "a0 + a1 * x + ...", for gnuplot.
std::string formula(const std::vector<double>& coefficients) {
  std::string text = "0";
  for (std::size_t i = 0; i < coefficients.size(); ++i) text += fmt::format(" + ({:.17g}) * x**{}", coefficients[i], i);
  return text;
}

std::string published_formula() {
  std::string text = "0";
  for (std::size_t i = 0; i < theory::published_quartic.size(); ++i) {
    text += fmt::format(" + ({}) * x**{} / 1000.0", theory::published_quartic[i], i);
  }
  return text;
}

std::string curve(const std::string& formula, Colour colour, const std::string& title) {
  return fmt::format(", max(1, {}) with lines linewidth 2.5 linecolor rgb '{}' title {}", formula, code_of(colour),
                     quoted(title));
}

// One panel: a column of the table for each head.
std::string panel(const std::string& table, const std::string& column, bool legend) {
  std::string text = legend ? "set key\n" : "unset key\n";
  text += "plot ";
  for (std::size_t h = 0; h < compared_heads.size(); ++h) {
    text += fmt::format(
        "{}{} using 'n':'{} {}' with linespoints linewidth 2 pointtype {} pointsize 0.7 linecolor rgb '{}' title '{}'",
        h == 0 ? "" : ", ", table, column, compared_heads[h], head_points[h], code_of(head_colours[h]),
        compared_heads[h]);
  }
  return text + "\n";
}

std::string inactive_line(const char* axis, double label_at) {
  const bool vertical = *axis == 'x';
  return fmt::format(
      "set arrow 9 from {0} to {1} nohead dashtype 2 linecolor rgb '{3}'\n"
      "set label 9 'published β = 1 from 5.94 nats on' at {2} textcolor rgb '{3}'\n",
      vertical ? fmt::format("{}, graph 0", theory::inactive_from)
               : fmt::format("graph 0, first {}", theory::inactive_from),
      vertical ? fmt::format("{}, graph 1", theory::inactive_from)
               : fmt::format("graph 1, first {}", theory::inactive_from),
      vertical ? fmt::format("{}, {} rotate by 90 offset -0.8, 0", theory::inactive_from, label_at)
               : fmt::format("{}, {} offset 0, 0.6", label_at, theory::inactive_from),
      code_of(Colour::vermillion));
}

}  // namespace

Picture scatter_picture(const std::string& counts, const TemperatureFit& pooled, std::size_t models) {
  std::string script = data_block("counts", counts);
  script += fmt::format(R"(
max(a, b) = a > b ? a : b
set title 'Best temperature of {} sets on which a head looked at the wrong item ({} model{})'
set xlabel 'entropy H of softmax (nats)'
set ylabel 'inverse temperature β = 1/θ'
set xrange [0:8]
set yrange [0:10.4]
set samples 400
set key outside right center spacing 1.3
)",
                        pooled.samples.size(), models, models == 1 ? "" : "s");
  script += inactive_line("x", 5.4);
  script +=
      "plot $counts using 'entropy':'inverse theta':(0.25 * sqrt(column('count'))) with points pointtype 7 pointsize "
      "variable linecolor rgb '#a0999999' title 'sets (area: how many)'";
  script += curve(published_formula(), Colour::vermillion, "published quartic");
  script += curve(formula(pooled.quartic), Colour::sky, "our quartic");
  script += curve(formula(pooled.line), Colour::blue, "our line");
  return {"figure_6", 1100, 600, script + "\n"};
}

Picture sizes_picture(const std::string& sizes, const std::string& crowded) {
  std::string script = data_block("sizes", sizes) + data_block("crowded", crowded);
  script += R"(
set multiplot layout 2,2 margins 0.07, 0.98, 0.09, 0.94 spacing 0.09, 0.14
set logscale x 2
set format x '%.0f'
set xtics 16, 4 rotate by 0
set xlabel 'items n'
set key bottom left
set title 'Accuracy, random sets'
set ylabel 'percent'
set yrange [0:100]
)";
  script += panel("$sizes", "accuracy", true);
  script += "set title 'Largest coefficient, random sets (mean)'\nset ylabel 'coefficient'\nset yrange [0:1]\n";
  script += panel("$sizes", "largest", false);
  script += "set title 'Entropy, random sets (mean)'\nset ylabel 'nats'\nset yrange [0:8]\n" + inactive_line("y", 20);
  script += panel("$sizes", "entropy", false);
  script +=
      "unset arrow 9\nunset label 9\nset title 'Accuracy, one item above a crowd'\nset ylabel 'percent'\nset yrange "
      "[0:104]\n";
  script += panel("$crowded", "accuracy", false);
  return {"figure_6_sizes", 1200, 860, script + "unset multiplot\n"};
}

}  // namespace softcheck::experiments
