#pragma once

#include <string>
#include <vector>

#include "experiments/tables/accuracy_table.hpp"

namespace softcheck::experiments {

/// One head over the sizes: put in place of softmax in networks trained with softmax, or trained with.
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

}  // namespace softcheck::experiments
