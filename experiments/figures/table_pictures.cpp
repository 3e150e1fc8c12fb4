#include "experiments/figures/table_pictures.hpp"

#include <fmt/format.h>

#include <array>

namespace softcheck::experiments {
namespace {

constexpr std::array colours{Colour::blue,   Colour::vermillion, Colour::green, Colour::orange,
                             Colour::purple, Colour::sky,        Colour::black};

std::string size_axis(int least, int most) {
  return fmt::format(
      "set logscale x 2\nset xrange [{}:{}]\nset xlabel 'items in a set, n'\nset xtics rotate by 35 right\n",
      least * 0.85, most * 1.18);
}

std::string accuracy_axis() {
  return "set ylabel 'accuracy (%)'\nset yrange [0:102]\nunset logscale y\nset format y '%g'\n"
         "set key bottom left at graph 0.01, 0.19 font ',10' spacing 1.1\n"
         "set arrow 1 from graph 0, first 10 to graph 1, first 10 nohead dashtype 2 linecolor rgb '#777777'\n"
         "set label 1 'chance' at graph 0.01, first 10 offset 0, 0.6 textcolor rgb '#777777'\n";
}

// Every plotted line has its own point type, so that a picture in grey can be read too.
std::string styled(std::size_t i, const std::string& title) {
  return fmt::format("with linespoints linewidth 2 pointtype {} pointsize 0.8 dashtype {} linecolor rgb '{}' title {}",
                     std::array{5, 7, 9, 11, 13, 4, 6, 8, 10, 12}[i % 10], i < colours.size() ? 1 : 3,
                     code_of(colours[i % colours.size()]), quoted(title));
}

// A table of one number: a column n, and one of each line, by its number.
template <class Number>
std::string columns(const std::vector<VariantLine>& lines, Number number) {
  std::string text = "n";
  for (std::size_t l = 0; l < lines.size(); ++l) text += fmt::format(",{}", l);
  for (std::size_t i = 0; i < lines.front().sizes.size(); ++i) {
    text += fmt::format("\n{}", lines.front().sizes[i]);
    for (const VariantLine& line : lines) text += fmt::format(",{}", number(line.summaries[i]));
  }
  return text + "\n";
}

std::string plot_of(const std::string& block, const std::vector<VariantLine>& lines) {
  std::string text = "plot ";
  for (std::size_t l = 0; l < lines.size(); ++l) {
    text += fmt::format("{}${} using 1:{} {}", l == 0 ? "" : ", ", block, l + 2, styled(l, lines[l].head));
  }
  return text + "\n";
}

Picture variants_picture(const std::string& name, const std::string& title, const std::vector<VariantLine>& lines) {
  std::string text = data_block("accuracy", columns(lines, [](const HeadSummary& s) { return s.accuracy.value; })) +
                     data_block("largest", columns(lines, [](const HeadSummary& s) { return s.largest.value; })) +
                     fmt::format("set multiplot layout 1, 2 title {} font ',15'\n", quoted(title)) +
                     size_axis(lines.front().sizes.front(), lines.front().sizes.back()) + accuracy_axis() +
                     "set title 'accuracy'\n" + plot_of("accuracy", lines) +
                     "unset arrow 1\nunset label 1\nset title 'largest coefficient, mean'\nset ylabel 'coefficient'\n"
                     "set logscale y\nset yrange [*:1.2]\nunset key\n" +
                     plot_of("largest", lines) + "unset multiplot\n";
  return {name, 1200, 560, text};
}

// "schedule=constant decay=loss" to "constant loss".
std::string short_name(const std::string& name) {
  std::string text;
  std::size_t word = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '=') {
      text.resize(word);
      continue;
    }
    text += name[i];
    if (name[i] == ' ') word = text.size();
  }
  return text;
}

}  // namespace

Figure table_1_figure(const std::vector<AccuracyRow>& table) {
  const std::string csv = to_csv(table);
  std::string text = data_block("table", csv) + "set multiplot layout 1, 2\n" +
                     size_axis(table.front().size, table.back().size) + accuracy_axis() +
                     "set title 'Table 1: accuracy, mean and 95 % interval over seeds'\n";
  const auto line = [](const char* column, Colour colour, int point, const char* title) {
    return fmt::format(
        "$table using 'n':'{0}':'{0}_half_width' with yerrorlines linewidth 2 pointtype {1} pointsize 0.8 linecolor "
        "rgb '{2}' title '{3}'",
        column, point, code_of(colour), title);
  };
  const auto paper = [](const char* column, Colour colour, int point, const char* title) {
    return fmt::format(
        "$table using 'n':'{}' with points pointtype {} pointsize 1.6 linewidth 2 linecolor rgb '{}' title '{}'",
        column, point, code_of(colour), title);
  };
  text += "plot " + line("baseline", Colour::blue, 5, "softmax") + ", " +
          line("adaptive", Colour::vermillion, 7, "adaptive temperature") + ", " +
          paper("paper_baseline", Colour::blue, 4, "softmax, the paper") + ", " +
          paper("paper_adaptive", Colour::vermillion, 6, "adaptive, the paper") + "\n";
  text +=
      "unset arrow 1\nunset label 1\nset title 'entropy of the coefficients, mean'\nset ylabel 'entropy (nats)'\n"
      "set yrange [0:*]\nset key top left at graph 0.02, 0.98\nplot log(x) with lines dashtype 2 linecolor rgb "
      "'#777777' title 'ln n, "
      "uniform', " +
      std::string("$table using 'n':'entropy' ") + styled(0, "softmax") + ", $table using 'n':'entropy_adaptive' " +
      styled(1, "adaptive temperature") + "\nunset multiplot\n";
  return {{{"table_1", csv}}, {{"table_1", 1200, 560, text}}};
}

Figure sensitivity_figure(const std::vector<Reading>& readings) {
  std::string data = "n", text;
  for (std::size_t r = 0; r < readings.size(); ++r) data += fmt::format(",baseline {0},adaptive {0}", r);
  for (std::size_t i = 0; i < readings.front().table.size(); ++i) {
    data += fmt::format("\n{}", readings.front().table[i].size);
    for (const Reading& reading : readings) {
      data += fmt::format(",{},{}", reading.table[i].baseline.accuracy.value, reading.table[i].adaptive.accuracy.value);
    }
  }
  const std::vector<AccuracyRow>& table = readings.front().table;
  text = data_block("readings", data + "\n") + data_block("paper", to_csv(table)) + "set multiplot layout 1, 2\n" +
         size_axis(table.front().size, table.back().size) + accuracy_axis();
  for (const std::string head : {"baseline", "adaptive"}) {
    text += fmt::format("set title {}\nplot ", quoted(head == "baseline" ? "softmax" : "adaptive temperature"));
    for (std::size_t r = 0; r < readings.size(); ++r) {
      text += fmt::format("$readings using 'n':'{} {}' {}, ", head, r, styled(r, short_name(readings[r].name)));
    }
    text += fmt::format(
        "$paper using 'n':'paper_{}' with points pointtype 6 pointsize 2 linewidth 2.5 linecolor rgb '#000000' title "
        "'the paper'\n",
        head);
  }
  return {{{"sensitivity", to_csv(readings)}}, {{"sensitivity", 1300, 600, text + "unset multiplot\n"}}};
}

Figure variants_figure(const std::vector<VariantLine>& lines) {
  std::vector<VariantLine> in_place, trained;
  for (const VariantLine& line : lines) (line.trained ? trained : in_place).push_back(line);
  Figure figure{{{"variants", to_csv(lines)}}, {}};
  if (!in_place.empty()) {
    figure.pictures.push_back(variants_picture("variants_in_place", "In place of softmax, same networks", in_place));
  }
  if (!trained.empty()) {
    figure.pictures.push_back(variants_picture("variants_trained", "Trained with the head, short runs", trained));
  }
  return figure;
}

}  // namespace softcheck::experiments
