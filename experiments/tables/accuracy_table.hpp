#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/evaluation.hpp"

namespace softcheck::experiments {

/// A mean over seeds with half the width of its 95 % confidence interval by Student's t; NaN for a single seed.
struct Mean {
  double value = 0;
  double half_width = 0;
};
Mean mean_of(std::span<const double> values);

/// Student's t-test of pairs: the two-sided p-value for a mean difference of 0. None for fewer than two pairs or where
/// all differences are equal.
///
/// throws   std::invalid_argument when the lengths differ
std::optional<double> paired_p_value(std::span<const double> a, std::span<const double> b);

/// A head over the seeds, at one size.
struct HeadSummary {
  Mean accuracy;  // in percent
  Mean entropy;   // in nats
  Mean largest;   // coefficient
};

struct AccuracyRow {
  int size = 0;
  std::size_t sets = 0;  // of each seed
  double spread = 0;     // mean over seeds and sets
  HeadSummary baseline;
  HeadSummary adaptive;
  Mean difference;  // adaptive - baseline, in percent
  std::optional<double> p_value;
};

/// Table 1: a row for each size from the measures of each seed. Heads 0 and 1 are softmax and adaptive temperature.
///
/// throws   std::invalid_argument when there is no seed, or the seeds have other sizes
std::vector<AccuracyRow> accuracy_table(const std::vector<std::vector<SizeMeasure>>& seeds);

/// A head's summary over the seeds, at the index-th size.
HeadSummary summary_of(const std::vector<std::vector<SizeMeasure>>& seeds, std::size_t index, std::size_t head);

/// A claim of the paper about its table, checked on ours.
struct TableClaim {
  std::string name;
  bool holds = false;
  std::string detail;  // where it fails, or how closely it holds
};
std::vector<TableClaim> claims_of(const std::vector<AccuracyRow>& table);

/// Root of the mean square of the differences to the paper's known cells, in percent; NaN if no size is known.
double distance_to_paper(const std::vector<AccuracyRow>& table);

/// Aligned columns for a terminal, the paper's numbers next to ours.
std::string to_text(const std::vector<AccuracyRow>& table);

/// A line for each size, with a line of names first.
std::string to_csv(const std::vector<AccuracyRow>& table);

}  // namespace softcheck::experiments
