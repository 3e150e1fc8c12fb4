#pragma once

#include <string>
#include <vector>

#include "experiments/tables/accuracy_table.hpp"

namespace softcheck::experiments {

/// One head over the sizes: used instead of softmax in networks trained with softmax, or in networks trained with it.
struct VariantLine {
  std::string head;
  bool trained = false;
  std::size_t models = 0;
  std::vector<int> sizes;
  std::vector<HeadSummary> summaries;  // a size each
};

/// The head-th head of the measures of each network.
VariantLine variant_line(const std::string& name, bool trained, const std::vector<std::vector<SizeMeasure>>& networks,
                         std::size_t head);

/// Two blocks of aligned columns, a line for each head: accuracy in percent, and the largest coefficient.
std::string to_text(const std::vector<VariantLine>& lines);
std::string to_csv(const std::vector<VariantLine>& lines);

/// One choice for the settings that the paper leaves open, and its results.
struct Reading {
  std::string name;  // the words in which it differs, such as "decay=half-loss schedule=cosine"
  std::vector<AccuracyRow> table;
};

/// The words of an option text that tell readings apart: decay, biases, schedule.
std::string reading_name(const std::string& options);

/// Accuracies baseline -> adaptive at the paper's known sizes, a line for each reading and the paper's first; the
/// distance to it (root mean square over its cells, in percent); the closest reading is named last.
std::string to_text(const std::vector<Reading>& readings);
std::string to_csv(const std::vector<Reading>& readings);

}  // namespace softcheck::experiments
