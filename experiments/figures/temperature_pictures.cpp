#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "experiments/figures/attention_row.hpp"
#include "experiments/figures/temperature_figure.hpp"
#include "experiments/tables/paper_table.hpp"
#include "theory/adaptive_temperature.hpp"

namespace softcheck::experiments {
namespace {

constexpr std::array head_colours{Colour::black, Colour::vermillion, Colour::sky, Colour::blue, Colour::purple};
constexpr std::array head_points{7, 5, 9, 13, 11};

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

// One panel: a column of the table for each head; the last one is always the sharpest possible head.
std::string panel(const std::string& table, const std::string& column, bool hard_maximum) {
  std::string text;
  for (std::size_t h = 0; h + (hard_maximum ? 0 : 1) < compared_heads.size(); ++h) {
    text += fmt::format(
        "{}{} using 'n':'{} {}' with linespoints linewidth 2 pointtype {} pointsize 0.7 linecolor rgb '{}' title '{}'",
        h == 0 ? "plot " : ", ", table, column, compared_heads[h], head_points[h], code_of(head_colours[h]),
        compared_heads[h]);
  }
  return text;
}

// The known numbers of the paper's Table 1, as hollow points.
std::string paper_points() {
  std::string text;
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}}) {
    text += fmt::format(
        ", $paper using 'n':'{0}' with points pointtype {1} pointsize 1.3 linewidth 1.5 linecolor rgb '{2}' title "
        "'{0}, in the paper'",
        compared_heads[head], head_points[head] - 1, code_of(head_colours[head]));
  }
  return text;
}

std::string paper_csv() {
  std::string text = fmt::format("n,{},{}\n", compared_heads[0], compared_heads[1]);
  for (const PaperColumn& column : paper_table) {
    text += fmt::format("{},{},{}\n", column.size, column.baseline, column.adaptive);
  }
  return text;
}

// A dashed, labelled line across a panel at the end of the published polynomial.
std::string inactive_line(const std::string& from, const std::string& to, const std::string& label_at) {
  return fmt::format(
      "set arrow 9 from {} to {} nohead dashtype 2 linecolor rgb '{}'\nset label 9 'published β = 1' at {} "
      "textcolor rgb '{}'\n",
      from, to, code_of(Colour::vermillion), label_at, code_of(Colour::vermillion));
}

constexpr int logit_count = 10;
constexpr std::array spreads{1, 3, 10, 30, 100};
constexpr int points_per_decade = 40, decades_below_1 = 2, decades_above_1 = 2;

std::vector<float> equal_steps(int spread) {
  std::vector<float> logits;
  for (int i = 0; i < logit_count; ++i) {
    logits.push_back(static_cast<float>(spread * i) / static_cast<float>(logit_count - 1));
  }
  return logits;
}

std::string csv() {
  std::string text = "theta";
  for (const int spread : spreads) text += fmt::format(",entropy at spread {}", spread);
  text += "\n";
  for (int i = -decades_below_1 * points_per_decade; i <= decades_above_1 * points_per_decade; ++i) {
    const double theta = std::pow(10, static_cast<double>(i) / points_per_decade);
    text += fmt::format("{:.17g}", theta);
    for (const int spread : spreads) {
      text += fmt::format(",{:.17g}", entropy_of(coefficients_of(equal_steps(spread), 1 / theta)));
    }
    text += "\n";
  }
  return text;
}

std::string script(const std::string& table) {
  static constexpr std::array colours{Colour::blue, Colour::sky, Colour::green, Colour::orange, Colour::vermillion};
  std::string text = data_block("entropies", table);
  text += fmt::format(R"(
set title 'Entropy of softmax of 10 logits in equal steps'
set xlabel 'temperature θ (in the unit of the logits)'
set ylabel 'entropy H (nats)'
set logscale x
set format x '10^{{%T}}'
set xrange [0.01:100]
set yrange [0:2.6]
set key outside right center title 'spread δ' spacing 1.3
set arrow from graph 0, first {0:.17g} to graph 1, first {0:.17g} nohead dashtype 2 linecolor rgb '#555555'
set label 'ln 10, uniform' at 0.012, {0:.17g} offset 0, 0.6 textcolor rgb '#555555'
plot )",
                      std::log(logit_count));
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    text += fmt::format(
        "{}$entropies using 'theta':'entropy at spread {}' with lines linewidth 2.5 linecolor rgb '{}' "
        "title '{}'",
        i == 0 ? "" : ", ", spreads[i], code_of(colours[i]), spreads[i]);
  }
  return text + "\n";
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
  const std::string end = theory::inactive_from;
  script += inactive_line(end + ", graph 0", end + ", graph 1", end + ", 0.5 offset 0.5, 0");
  script +=
      "plot $counts using 'entropy':'inverse theta':(0.25 * sqrt(column('count'))) with points pointtype 7 pointsize "
      "variable linecolor rgb '#a0999999' title 'sets (area: how many)'";
  script += curve(published_formula(), Colour::vermillion, "published quartic");
  script += curve(formula(pooled.quartic), Colour::sky, "our quartic");
  script += curve(formula(pooled.line), Colour::blue, "our line");
  return {"figure_6", 1100, 600, script + "\n"};
}

Picture sizes_picture(const std::string& sizes, const std::string& crowded) {
  std::string script = data_block("sizes", sizes) + data_block("crowded", crowded) + data_block("paper", paper_csv());
  script += R"(
set multiplot layout 2,2 margins 0.088, 0.965, 0.09, 0.945 spacing 0.09, 0.16
set logscale x 2
set format x '%.0f'
set xtics 16, 4
set xlabel 'items n'
set key bottom left font ',11' samplen 1.5
set title 'Accuracy, random sets'
set ylabel 'percent'
set yrange [0:100]
)";
  script += panel("$sizes", "accuracy", true) + paper_points();
  script += "\nunset key\nset title 'Accuracy, one item above a crowd'\nset yrange [0:104]\n";
  script += panel("$crowded", "accuracy", true);
  script += "\nset title 'Largest coefficient, random sets (mean)'\nset ylabel 'coefficient'\nset yrange [0:1]\n";
  script += panel("$sizes", "largest", false);
  script += "\nset title 'Entropy, random sets (mean)'\nset ylabel 'nats'\nset yrange [0:8]\n";
  const std::string end = theory::inactive_from;
  script += inactive_line("graph 0, first " + end, "graph 1, first " + end, "20, " + end + " offset 0, 0.6");
  script += panel("$sizes", "entropy", false);
  return {"figure_6_sizes", 1200, 900, script + "\nunset multiplot\n"};
}

Figure entropy_of_temperature() {
  const std::string table = csv();
  return {{{"figure_5", table}}, {{"figure_5", 900, 560, script(table)}}};
}

}  // namespace softcheck::experiments
