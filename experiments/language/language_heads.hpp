#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_training.hpp"

namespace softcheck::experiments {

/// One query of one head, and the kernel's results for it.
struct HeadRow {
  int layer = 0;
  int head = 0;
  std::vector<double> query = {};   // (head width), and
  std::vector<double> keys = {};    // (items, head width), as the kernel reads them
  std::vector<double> scores = {};  // of all characters that the query sees: q . k / sqrt(head width), before any beta
  double log_sum = 0;               // the kernel's three results, from the weights that multiply the values
  double entropy = 0;
  double largest_score = 0;  // without beta

  double spread() const;
};

/// Runs a model on a text and observes, in every head, the queries that see the given numbers of characters.
///
/// items    each >= 1; those beyond the text are left out
void observe_rows(const LanguageModel& model, bool adaptive, const LanguageKernels& kernels, const std::string& text,
                  std::span<const std::int64_t> items, const std::function<void(const HeadRow&)>& row);

/// beta of Fig. 4 for a row's scores; 1 if the model has no adaptive temperature.
double beta_of(const HeadRow& row, bool adaptive);

/// A point of figure 3, and the spreads seen there.
struct LanguageHeadPoint {
  HeadEntropy entropy = {};
  double mean_spread = 0, largest_spread = 0;  // of the scores, without beta
  double certified_spread = 0;
};

/// The floors and the largest coefficients of the points of an adaptive model are those of softmax(beta e): its spread
/// is at most 2.42139 times that of e.
Figure heads_figure(const std::string& name, const std::vector<LanguageHeadPoint>& points);

/// Texts of at least a given length, from the algorithms that can write them, one from each in each of several draws.
std::vector<std::string> long_texts(std::size_t length, int draws, std::uint64_t seed);

/// The points of all heads, by layer, then by number, fewest items first: the queries that see 16, 32, ... up to
/// largest characters of each text.
///
/// spreads   certified, of each head: layer * heads + head
std::vector<LanguageHeadPoint> observe_heads(const LanguageModel& model, const LanguageKernels& kernels,
                                             const std::vector<std::string>& texts, std::int64_t largest,
                                             const std::vector<double>& spreads);

/// The spreads that no text exceeds, proved for the folder's model as by `softcheck model`.
///
/// throws   as models::open_checkpoint and certify_heads
std::vector<double> certified_spreads(const std::filesystem::path& folder, unsigned threads);

}  // namespace softcheck::experiments
