#include "experiments/figures/entropy_of_temperature.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "experiments/figures/attention_row.hpp"

namespace softcheck::experiments {
namespace {

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

Figure entropy_of_temperature() {
  const std::string table = csv();
  return {{{"figure_5", table}}, {{"figure_5", 900, 560, script(table)}}};
}

}  // namespace softcheck::experiments
