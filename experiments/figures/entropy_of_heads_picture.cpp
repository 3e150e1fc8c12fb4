// The picture of figure 3.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "experiments/figures/entropy_of_heads.hpp"

namespace softcheck::experiments {
namespace {

constexpr int panel_width = 310, panel_height = 275, left = 75, title_height = 45, legend_height = 85;

using LayerPoints = std::map<std::int64_t, std::vector<const HeadEntropy*>>;  // by items: a point of each head

std::string csv_of(const std::vector<HeadEntropy>& points) {
  std::string text =
      "layer,head,items,rows,mean entropy,least entropy,largest entropy,largest coefficient,certified floor,ln n,seen,"
      "mean spread,mean weight of the first token\n";
  for (const HeadEntropy& point : points) {
    text += fmt::format("{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{},{:.9g},{:.9g}\n", point.layer,
                        point.head, point.items, point.rows, point.mean(), point.least, point.largest,
                        point.largest_coefficient, point.certified_floor, std::log(static_cast<double>(point.items)),
                        point.seen, point.mean(point.spread_sum), point.mean(point.first_token_sum));
  }
  return text;
}

// "entropy, spread, weight of the first token" as means over some heads.
std::string means_of(const std::vector<const HeadEntropy*>& heads) {
  if (heads.empty()) return "";
  double entropy = 0, spread = 0, first_token = 0;
  for (const HeadEntropy* head : heads) {
    entropy += head->mean();
    spread += head->mean(head->spread_sum);
    first_token += head->mean(head->first_token_sum);
  }
  const auto count = static_cast<double>(heads.size());
  return fmt::format("{:.4f}, {:.2f}, {:.3f}", entropy / count, spread / count, first_token / count);
}

// A line for each number of items: ln of those seen, the largest of the heads' floors, the median of their entropies,
// and each.
std::string layer_block(const std::string& name, const LayerPoints& layer) {
  std::string table = "items,ceiling,floor,median,first token";
  for (const HeadEntropy* point : layer.begin()->second) table += fmt::format(",head {}", point->head);
  table += "\n";
  for (const auto& [items, heads] : layer) {
    std::vector<double> entropies;
    double floor = 0, first_token = 0;
    std::string each;
    for (const HeadEntropy* point : heads) {
      entropies.push_back(point->mean());
      floor = std::max(floor, point->certified_floor);
      first_token += point->mean(point->first_token_sum) / static_cast<double>(heads.size());
      each += fmt::format(",{:.9g}", point->mean());
    }
    std::ranges::sort(entropies);
    const std::size_t half = entropies.size() / 2;
    const double median = entropies.size() % 2 ? entropies[half] : (entropies[half - 1] + entropies[half]) / 2;
    table += fmt::format("{},{:.9g},{:.9g},{:.9g},{:.9g}{}\n", items,
                         std::log(static_cast<double>(heads.front()->seen)), floor, median, first_token, each);
  }
  return data_block(name, table);
}

bool knows_first_token(const LayerPoints& layer) { return !std::isnan(layer.begin()->second.front()->first_token_sum); }

std::string panel_script(std::int64_t number, const LayerPoints& layer) {
  std::string text = fmt::format("set title 'layer {}' offset 0, -0.8\nplot ", number);
  for (const HeadEntropy* point : layer.begin()->second) {
    text += fmt::format("$layer{} using 'items':'head {}' with lines linewidth 1 linecolor rgb '{}', ", number,
                        point->head, code_of(Colour::sky));
  }
  if (knows_first_token(layer)) {
    text += fmt::format(
        "$layer{} using 'items':'first token' axes x1y2 with lines dashtype 3 linewidth 2 linecolor rgb '{}', ", number,
        code_of(Colour::orange));
  }
  return text + fmt::format(
                    "$layer{0} using 'items':'median' with linespoints pointtype 7 pointsize 0.4 linewidth 2.5 "
                    "linecolor rgb '{1}', $layer{0} using 'items':'ceiling' with lines dashtype 2 linewidth 1.5 "
                    "linecolor rgb '#555555', $layer{0} using 'items':'floor' with lines linewidth 2.5 linecolor rgb "
                    "'{2}'\n",
                    number, code_of(Colour::blue), code_of(Colour::vermillion));
}

// The legend is a separate panel at the bottom, with lines that have no points.
std::string legend_script(double top, bool first_token) {
  return fmt::format(
      "unset title\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\n"
      "set lmargin at screen 0.1\nset rmargin at screen 0.95\nset bmargin at screen 0\nset tmargin at screen {:.4f}\n"
      "set key center center vertical maxrows 2 width 0 spacing 1.3\n"
      "plot NaN with lines linewidth 1 linecolor rgb '{}' title 'mean of a head', "
      "NaN with lines linewidth 2.5 linecolor rgb '{}' title 'median of the heads', "
      "NaN with lines dashtype 2 linewidth 1.5 linecolor rgb '#555555' title 'ln n, uniform', "
      "NaN with lines linewidth 2.5 linecolor rgb '{}' title 'certified floor'{}\n",
      top, code_of(Colour::sky), code_of(Colour::blue), code_of(Colour::vermillion),
      first_token ? fmt::format(", NaN with lines dashtype 3 linewidth 2 linecolor rgb '{}' title 'mean weight "
                                "on the first token'",
                                code_of(Colour::orange))
                  : "");
}

}  // namespace

std::string to_text(const std::vector<HeadEntropy>& points) {
  std::map<std::int64_t, std::vector<const HeadEntropy*>> sizes;
  for (const HeadEntropy& point : points) sizes[point.items].push_back(&point);
  std::string text =
      "| items, ln | first layer: entropy of each head | first layer: entropy, spread, weight of the first token | "
      "heads "
      "with a window | heads without | heads with a coefficient > 0.5 |\n|---|---|---|---|---|---|\n";
  for (const auto& [items, heads] : sizes) {
    std::vector<const HeadEntropy*> first, windows, others;
    std::string each;
    std::size_t sharp = 0;
    for (const HeadEntropy* head : heads) {
      if (head->layer == 0) {
        first.push_back(head);
        each += fmt::format("{}{:.4f}", each.empty() ? "" : ", ", head->mean());
      }
      (head->has_window ? windows : others).push_back(head);
      sharp += head->largest_coefficient > 0.5 ? 1 : 0;
    }
    text += fmt::format("| {}, {:.3f} | {} | {} | {} | {} | {} of {} |\n", items, std::log(static_cast<double>(items)),
                        each, means_of(first), means_of(windows), means_of(others), sharp, heads.size());
  }
  return text;
}

Figure entropy_of_heads(const std::string& name, const std::vector<HeadEntropy>& points) {
  if (points.empty()) throw std::invalid_argument("entropy_of_heads: need points, got none");
  std::map<std::int64_t, LayerPoints> layers;
  std::int64_t largest = 0;
  for (const HeadEntropy& point : points) {
    layers[point.layer][point.items].push_back(&point);
    largest = std::max(largest, point.items);
  }
  const auto count = static_cast<int>(layers.size());
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(count))));
  const int rows = (count + columns - 1) / columns;
  const int width = left + columns * panel_width, height = title_height + rows * panel_height + legend_height;
  std::string script;
  for (const auto& [number, layer] : layers) script += layer_block(fmt::format("layer{}", number), layer);
  script += fmt::format(
      "set multiplot\nset label 1 {} at screen 0.5, screen {:.4f} center noenhanced\n"
      "set logscale x 2\nset xrange [14:{}]\nset yrange [-0.25:{:.3f}]\nset ytics 2\nset xtics {}offset 0, 0.3\n"
      "set y2range [-0.02:1.08]\n",
      quoted("Entropy of the attention heads of " + name + " against the number of items"), 1 - 22.0 / height,
      largest * 1.15, std::log(static_cast<double>(largest)) * 1.08,
      largest > 512 ? "16, 4 " : "");  // numbers of four digits are wider than an octave
  const bool first_token = knows_first_token(layers.begin()->second);
  int place = 0;
  for (const auto& [number, layer] : layers) {
    const int column = place % columns, row = place / columns;
    const double x = left + column * panel_width, y = title_height + row * panel_height;
    script += fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", x / width,
                          (x + panel_width - 50) / width);
    script += fmt::format("set tmargin at screen {:.4f}\nset bmargin at screen {:.4f}\n", 1 - (y + 30) / height,
                          1 - (y + panel_height - 45) / height);
    script += column == 0 ? "set ylabel 'entropy H (nats)' offset 1, 0\n" : "unset ylabel\n";
    script += place + columns >= count ? "set xlabel 'items n' offset 0, 0.6\n" : "unset xlabel\n";
    script += panel_script(number, layer);
    script += "unset label 1\n";
    ++place;
  }
  script += legend_script(static_cast<double>(legend_height - 10) / height, first_token) + "unset multiplot\n";
  return {{{"figure_3", csv_of(points)}}, {{"figure_3", width, height, script}}};
}

}  // namespace softcheck::experiments
