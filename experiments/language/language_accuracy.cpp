#include "experiments/language/language_accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace softcheck::experiments {
namespace {

// Shares of the problems of each set of each seed, in percent.
struct SetShares {
  std::vector<double> whole, answer, characters;
  std::size_t problems = 0;

  void add(const std::vector<ProblemScore>& scores, int sets) {
    const std::size_t count = scores.size(), parts = std::min<std::size_t>(static_cast<std::size_t>(sets), count);
    problems += count;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t begin = part * count / parts, end = (part + 1) * count / parts;
      double wholes = 0, answers = 0, right = 0, all = 0;
      for (std::size_t i = begin; i < end; ++i) {
        wholes += scores[i].whole ? 1 : 0;
        answers += scores[i].answer ? 1 : 0;
        right += scores[i].right;
        all += scores[i].characters;
      }
      const double share = 100 / static_cast<double>(end - begin);
      whole.push_back(wholes * share);
      answer.push_back(answers * share);
      characters.push_back(100 * right / all);
    }
  }
};

void check(const LanguageCells& cells, int sets) {
  const auto fail = [](const char* what) { throw std::invalid_argument(fmt::format("language_rows: need {}", what)); };
  if (sets < 1 || cells[0].empty()) fail("models and at least one set");
  for (const auto& seeds : cells) {
    if (!seeds.empty() && seeds.size() != cells[0].size()) fail("as many seeds of each use");
    for (const std::vector<LanguageCell>& model : seeds) {
      bool same = model.size() == cells[0][0].size();
      for (std::size_t i = 0; same && i < model.size(); ++i) {
        same = model[i].algorithm == cells[0][0][i].algorithm && model[i].size == cells[0][0][i].size;
      }
      if (!same) fail("the same algorithms and sizes everywhere");
    }
  }
}

LanguageRow row_of(const std::string& algorithm, int size, const std::array<SetShares, 3>& uses) {
  LanguageRow row{.algorithm = algorithm, .size = size, .problems = uses[0].problems};
  for (std::size_t use = 0; use < uses.size(); ++use) {
    const SetShares& shares = uses[use];
    if (shares.whole.empty()) continue;
    row.uses[use] = {mean_of(shares.whole), mean_of(shares.answer), mean_of(shares.characters)};
    if (use == 0) continue;
    row.p_whole[use] = paired_p_value(uses[0].whole, shares.whole);
    row.p_characters[use] = paired_p_value(uses[0].characters, shares.characters);
  }
  return row;
}

std::string percent_text(const std::optional<LanguageSummary>& summary, Mean LanguageSummary::*part) {
  if (!summary) return "-";
  const Mean& mean = (*summary).*part;
  return std::isnan(mean.half_width) ? fmt::format("{:.1f}", mean.value)
                                     : fmt::format("{:.1f} +- {:.1f}", mean.value, mean.half_width);
}

std::string p_text(const std::optional<double>& p) { return p ? fmt::format("{:.1e}", *p) : "-"; }

std::string csv_of(const std::vector<LanguageRow>& rows) {
  std::string text = "algorithm,n,problems";
  for (const char* use : {"plain", "inference", "both"}) {
    for (const char* part : {"whole", "answer", "characters"}) {
      text += fmt::format(",{0} {1},{0} {1} half width", use, part);
    }
  }
  text += ",p inference whole,p inference characters,p both whole,p both characters\n";
  for (const LanguageRow& row : rows) {
    text += fmt::format("{},{},{}", row.algorithm, row.size, row.problems);
    for (const std::optional<LanguageSummary>& use : row.uses) {
      for (const auto part : {&LanguageSummary::whole, &LanguageSummary::answer, &LanguageSummary::characters}) {
        text += use ? fmt::format(",{:.6g},{:.6g}", ((*use).*part).value, ((*use).*part).half_width) : ",,";
      }
    }
    for (const std::size_t use : {std::size_t{1}, std::size_t{2}}) {
      for (const std::optional<double>& p : {row.p_whole[use], row.p_characters[use]}) {
        text += p ? fmt::format(",{:.6g}", *p) : ",";
      }
    }
    text += "\n";
  }
  return text;
}

constexpr int size_panel_width = 300, size_panel_height = 235, size_columns = 4, top = 45, size_left = 70;
constexpr std::array panel_colours{Colour::blue, Colour::green, Colour::vermillion};
constexpr std::array<const char*, 3> column_words{"plain", "inference", "both"};

std::string size_panel(const std::string& block, const std::string& title, const LanguageRow& like) {
  std::string text = fmt::format("set title {} offset 0, -0.8 noenhanced\nplot ", quoted(title));
  for (std::size_t use = 0; use < like.uses.size(); ++use) {
    if (!like.uses[use]) continue;
    text += fmt::format(
        "{0}${1} using 'n':'{2} whole':'{2} whole half width' with yerrorlines linewidth 2 pointtype {3} pointsize 0.6 "
        "linecolor rgb '{4}', ${1} using 'n':'{2} characters' with lines dashtype 2 linewidth 1.5 linecolor rgb '{4}'",
        use == 0 ? "" : ", ", block, column_words[use], 5 + 2 * use, code_of(panel_colours[use]));
  }
  return text + "\n";
}

std::string size_legend(const LanguageRow& like) {
  std::string text =
      "unset title\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nunset object\nset key left "
      "center vertical spacing 1.3\nplot ";
  for (std::size_t use = 0; use < like.uses.size(); ++use) {
    if (!like.uses[use]) continue;
    text += fmt::format("NaN with linespoints linewidth 2 pointtype {} linecolor rgb '{}' title '{}', ", 5 + 2 * use,
                        code_of(panel_colours[use]), temperature_words[use]);
  }
  return text +
         "NaN with lines dashtype 2 linewidth 1.5 linecolor rgb '#555555' title 'dashed: characters of the response'\n";
}

}  // namespace

std::vector<LanguageRow> language_rows(const LanguageCells& cells, int sets) {
  check(cells, sets);
  std::vector<LanguageRow> rows;
  for (std::size_t i = 0; i < cells[0][0].size(); ++i) {
    std::array<SetShares, 3> uses;
    for (std::size_t use = 0; use < uses.size(); ++use) {
      for (const std::vector<LanguageCell>& model : cells[use]) uses[use].add(model[i].problems, sets);
    }
    if (uses[0].problems > 0) {
      rows.push_back(row_of(std::string(cells[0][0][i].algorithm), cells[0][0][i].size, uses));
    }
  }
  return rows;
}

std::vector<LanguageRow> language_totals(const LanguageCells& cells, int sets) {
  check(cells, sets);
  std::map<int, std::array<SetShares, 3>> sizes;
  for (std::size_t use = 0; use < cells.size(); ++use) {
    for (const std::vector<LanguageCell>& model : cells[use]) {
      for (const LanguageCell& cell : model) {
        if (!cell.problems.empty()) sizes[cell.size][use].add(cell.problems, sets);
      }
    }
  }
  std::vector<LanguageRow> rows;
  for (const auto& [size, uses] : sizes) rows.push_back(row_of("all", size, uses));
  return rows;
}

std::string to_text(const std::vector<LanguageRow>& rows) {
  std::string text =
      fmt::format("{:<22} {:>3} {:>5}  {:<40} {:<19} {:<40} {:<17}\n", "p: inference, both", "n", "texts",
                  "exact, %: plain, inference, both", "p", "characters, %: plain, inference, both", "p");
  for (const LanguageRow& row : rows) {
    const auto three = [&](Mean LanguageSummary::*part, const std::array<std::optional<double>, 3>& p) {
      return fmt::format("{:<13} {:<13} {:<13} {:>8} {:>8}", percent_text(row.uses[0], part),
                         percent_text(row.uses[1], part), percent_text(row.uses[2], part), p_text(p[1]), p_text(p[2]));
    };
    text +=
        fmt::format("{:<22} {:>3} {:>5}  {}  {}\n", row.algorithm, row.size, row.problems,
                    three(&LanguageSummary::whole, row.p_whole), three(&LanguageSummary::characters, row.p_characters));
  }
  return text;
}

Figure language_accuracy(const std::vector<LanguageRow>& rows, const std::vector<LanguageRow>& totals, int smallest,
                         int largest) {
  if (rows.empty()) throw std::invalid_argument("language_accuracy: need rows, got none");
  std::vector<LanguageRow> all = rows;
  all.insert(all.end(), totals.begin(), totals.end());
  std::vector<std::pair<std::string, std::vector<LanguageRow>>> panels;
  for (const LanguageRow& row : all) {
    if (panels.empty() || panels.back().first != row.algorithm) panels.push_back({row.algorithm, {}});
    panels.back().second.push_back(row);
  }
  // The legend follows the panels. It is wider than one of them, so it does not stand in the last column.
  const int count = static_cast<int>(panels.size()) + 1;
  const int columns = count % size_columns == 0 ? size_columns - 1 : size_columns;
  const int lines = (count + columns - 1) / columns;
  std::string script;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    script += data_block(fmt::format("panel{}", i), csv_of(panels[i].second));
  }
  script += fmt::format(
      "set multiplot layout {},{} margins screen {:.4f},0.98,{:.4f},{:.4f} spacing screen 0.04,{:.4f} title 'Exact "
      "trace and answer in percent against the size of problems; grey: sizes of the training'\n"
      "set xrange [3:50]\nset yrange [-4:104]\nset xtics (4, 12, 24, 32, 48) offset 0, 0.4\nset ytics 50\nunset key\n"
      "set object 1 rectangle from {},graph 0 to {},graph 1 behind fillcolor rgb '#eeeeee' fillstyle solid noborder\n",
      lines, columns, static_cast<double>(size_left) / (columns * size_panel_width),
      30.0 / (top + lines * size_panel_height), 1 - static_cast<double>(top + 25) / (top + lines * size_panel_height),
      75.0 / (top + lines * size_panel_height), smallest, largest);
  for (std::size_t i = 0; i < panels.size(); ++i) {
    script +=
        size_panel(fmt::format("panel{}", i), panels[i].first == "all" ? "all algorithms" : panels[i].first, rows[0]);
  }
  script += size_legend(rows[0]) + "unset multiplot\n";
  return {{{"figure_8", csv_of(rows)}, {"figure_8_all", csv_of(totals)}},
          {{"figure_8", columns * size_panel_width, top + lines * size_panel_height, script}}};
}

}  // namespace softcheck::experiments
