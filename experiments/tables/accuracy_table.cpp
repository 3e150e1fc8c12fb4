#include "experiments/tables/accuracy_table.hpp"

#include <fmt/format.h>

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "experiments/tables/paper_table.hpp"

namespace softcheck::experiments {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double average(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The mean's standard error; 0 if all values are equal, whatever their rounded mean is.
double standard_error(std::span<const double> values, double mean) {
  double squares = 0;
  bool differ = false;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
    differ = differ || value != values[0];
  }
  const auto n = static_cast<double>(values.size());
  return differ ? std::sqrt(squares / (n - 1) / n) : 0;
}

template <class Number>
std::vector<double> each_seed(const std::vector<std::vector<SizeMeasure>>& seeds, std::size_t index, std::size_t head,
                              Number number) {
  std::vector<double> values;
  for (const std::vector<SizeMeasure>& sizes : seeds) {
    const std::vector<HeadMeasure>& sets = sizes[index].heads[head];
    double sum = 0;
    for (const HeadMeasure& set : sets) sum += static_cast<double>(number(set));
    values.push_back(sum / static_cast<double>(sets.size()));
  }
  return values;
}

std::vector<double> accuracies(const std::vector<std::vector<SizeMeasure>>& seeds, std::size_t index,
                               std::size_t head) {
  return each_seed(seeds, index, head, [](const HeadMeasure& set) { return set.correct ? 100.0 : 0.0; });
}

void check(const std::vector<std::vector<SizeMeasure>>& seeds) {
  if (seeds.empty()) throw std::invalid_argument("accuracy_table: need measures of at least one seed");
  for (const std::vector<SizeMeasure>& sizes : seeds) {
    bool same = sizes.size() == seeds[0].size();
    for (std::size_t i = 0; same && i < sizes.size(); ++i) {
      same = sizes[i].size == seeds[0][i].size && sizes[i].heads.size() >= 2;
    }
    if (!same) throw std::invalid_argument("accuracy_table: need the same sizes for every seed");
  }
}

TableClaim falls(const std::vector<AccuracyRow>& table) {
  TableClaim claim{"accuracy falls with n", true, ""};
  for (std::size_t i = 1; i < table.size(); ++i) {
    for (const auto& head : {&AccuracyRow::baseline, &AccuracyRow::adaptive}) {
      const double before = (table[i - 1].*head).accuracy.value, after = (table[i].*head).accuracy.value;
      if (after < before) continue;
      claim.holds = false;
      claim.detail += fmt::format(" {} at n = {} after {} at {};", after, table[i].size, before, table[i - 1].size);
    }
  }
  return claim;
}

TableClaim adaptive_is_better(const std::vector<AccuracyRow>& table) {
  TableClaim claim{"adaptive temperature is better, p < 0.05, for 64 <= n <= 4096", true, ""};
  for (const AccuracyRow& row : table) {
    if (row.size < 64 || row.size > 4096) continue;
    if (row.difference.value >= 0 && row.p_value && *row.p_value < 0.05) continue;
    claim.holds = false;
    claim.detail += fmt::format(" {:+.2f} with p = {} at n = {};", row.difference.value,
                                row.p_value ? fmt::format("{:.2g}", *row.p_value) : "none", row.size);
  }
  return claim;
}

TableClaim entropy_rises(const std::vector<AccuracyRow>& table) {
  TableClaim claim{"entropy rises with n", true, ""};
  for (std::size_t i = 1; i < table.size(); ++i) {
    for (const auto& head : {&AccuracyRow::baseline, &AccuracyRow::adaptive}) {
      const double before = (table[i - 1].*head).entropy.value, after = (table[i].*head).entropy.value;
      if (after > before) continue;
      claim.holds = false;
      claim.detail += fmt::format(" {} nats at n = {} after {};", after, table[i].size, before);
    }
  }
  return claim;
}

std::string percent(const Mean& mean) {
  return std::isnan(mean.half_width) ? fmt::format("{:.2f}", mean.value)
                                     : fmt::format("{:.2f} +- {:.2f}", mean.value, mean.half_width);
}

}  // namespace

Mean mean_of(std::span<const double> values) {
  if (values.empty()) throw std::invalid_argument("mean_of: need at least one value");
  const double mean = average(values);
  if (values.size() < 2) return {mean, nan};
  const boost::math::students_t distribution(static_cast<double>(values.size() - 1));
  return {mean, boost::math::quantile(distribution, 0.975) * standard_error(values, mean)};
}

std::optional<double> paired_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) {
    throw std::invalid_argument(fmt::format("paired_p_value: need pairs, got {} and {}", a.size(), b.size()));
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  if (differences.size() < 2) return std::nullopt;
  const double mean = average(differences), error = standard_error(differences, mean);
  if (error == 0) return std::nullopt;
  const boost::math::students_t distribution(static_cast<double>(differences.size() - 1));
  return 2 * boost::math::cdf(boost::math::complement(distribution, std::fabs(mean / error)));
}

HeadSummary summary_of(const std::vector<std::vector<SizeMeasure>>& seeds, std::size_t index, std::size_t head) {
  return {mean_of(accuracies(seeds, index, head)),
          mean_of(each_seed(seeds, index, head, [](const HeadMeasure& set) { return set.entropy; })),
          mean_of(each_seed(seeds, index, head, [](const HeadMeasure& set) { return set.largest; }))};
}

std::vector<AccuracyRow> accuracy_table(const std::vector<std::vector<SizeMeasure>>& seeds) {
  check(seeds);
  std::vector<AccuracyRow> table;
  for (std::size_t i = 0; i < seeds[0].size(); ++i) {
    AccuracyRow row;
    row.size = seeds[0][i].size;
    row.sets = seeds[0][i].spreads.size();
    std::vector<double> spreads, differences;
    for (const std::vector<SizeMeasure>& sizes : seeds) {
      spreads.push_back(average(std::vector<double>(sizes[i].spreads.begin(), sizes[i].spreads.end())));
    }
    row.spread = average(spreads);
    row.baseline = summary_of(seeds, i, 0);
    row.adaptive = summary_of(seeds, i, 1);
    const std::vector<double> baseline = accuracies(seeds, i, 0), adaptive = accuracies(seeds, i, 1);
    for (std::size_t s = 0; s < seeds.size(); ++s) differences.push_back(adaptive[s] - baseline[s]);
    row.difference = mean_of(differences);
    row.p_value = paired_p_value(baseline, adaptive);
    table.push_back(row);
  }
  return table;
}

std::vector<TableClaim> claims_of(const std::vector<AccuracyRow>& table) {
  return {falls(table), adaptive_is_better(table), entropy_rises(table)};
}

double distance_to_paper(const std::vector<AccuracyRow>& table) {
  double squares = 0;
  int cells = 0;
  for (const AccuracyRow& row : table) {
    const PaperColumn* const paper = paper_column(row.size);
    if (paper == nullptr) continue;
    squares += std::pow(row.baseline.accuracy.value - paper->baseline, 2) +
               std::pow(row.adaptive.accuracy.value - paper->adaptive, 2);
    cells += 2;
  }
  return cells == 0 ? nan : std::sqrt(squares / cells);
}

std::string to_text(const std::vector<AccuracyRow>& table) {
  std::string text =
      fmt::format("{:>6} {:>5} {:>16} {:>16} {:>15} {:>8} {:>14} {:>7} {:>7} {:>8} {:>8}\n", "n", "sets", "baseline %",
                  "adaptive %", "difference", "p", "paper's", "H", "H ad.", "largest", "l. ad.");
  for (const AccuracyRow& row : table) {
    const PaperColumn* const paper = paper_column(row.size);
    text += fmt::format("{:>6} {:>5} {:>16} {:>16} {:>15} {:>8} {:>14} {:>7.3f} {:>7.3f} {:>8.4f} {:>8.4f}\n", row.size,
                        row.sets, percent(row.baseline.accuracy), percent(row.adaptive.accuracy),
                        percent(row.difference), row.p_value ? fmt::format("{:.1e}", *row.p_value) : "-",
                        paper == nullptr ? "-" : fmt::format("{} -> {}", paper->baseline, paper->adaptive),
                        row.baseline.entropy.value, row.adaptive.entropy.value, row.baseline.largest.value,
                        row.adaptive.largest.value);
  }
  return text;
}

std::string to_csv(const std::vector<AccuracyRow>& table) {
  std::string text =
      "n,sets,spread,baseline,baseline_half_width,adaptive,adaptive_half_width,difference,difference_half_width,p,"
      "entropy,entropy_adaptive,largest,largest_adaptive,paper_baseline,paper_adaptive,paper_p\n";
  for (const AccuracyRow& row : table) {
    const PaperColumn* const paper = paper_column(row.size);
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", row.size, row.sets, row.spread,
                        row.baseline.accuracy.value, row.baseline.accuracy.half_width, row.adaptive.accuracy.value,
                        row.adaptive.accuracy.half_width, row.difference.value, row.difference.half_width,
                        row.p_value ? fmt::format("{}", *row.p_value) : "", row.baseline.entropy.value,
                        row.adaptive.entropy.value, row.baseline.largest.value, row.adaptive.largest.value,
                        paper == nullptr ? ",,"
                                         : fmt::format("{},{},{}", paper->baseline, paper->adaptive,
                                                       paper->p_value ? fmt::format("{}", *paper->p_value) : ""));
  }
  return text;
}

}  // namespace softcheck::experiments
