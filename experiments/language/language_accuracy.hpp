#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/language/language_evaluation.hpp"
#include "experiments/tables/accuracy_table.hpp"

namespace softcheck::experiments {

/// Where adaptive temperature acts.
enum class TemperatureUse { nowhere, inference, everywhere };  // everywhere: in training, too
inline constexpr std::array<const char*, 3> temperature_words{"plain", "adaptive at inference",
                                                              "adaptive in training and inference"};

/// The cells of the models of each use, seed by seed: those of one seed have the same problems. Each use has its seeds
/// in the same order; `inference` and `everywhere` may have none.
using LanguageCells = std::array<std::vector<std::vector<LanguageCell>>, 3>;

/// A use's results on one algorithm and size, in percent of the problems.
struct LanguageSummary {
  Mean whole;       // over sets of all seeds: trace and answer
  Mean answer;      // answer after the true trace
  Mean characters;  // of the responses
};

/// Figure 8's numbers at one algorithm and size.
struct LanguageRow {
  std::string algorithm;
  int size = 0;
  std::size_t problems = 0;  // of each use
  std::array<std::optional<LanguageSummary>, 3> uses = {};
  /// Two-sided p of the paired t-test over the sets, `nowhere` against the other two; as paired_p_value().
  std::array<std::optional<double>, 3> p_whole = {}, p_characters = {};
};

/// sets   of each seed: consecutive problems; a set is one number of the intervals and tests
/// throws std::invalid_argument if the uses or seeds have other cells
std::vector<LanguageRow> language_rows(const LanguageCells& cells, int sets);

/// A row for each size: the same over all algorithms that have it.
std::vector<LanguageRow> language_totals(const LanguageCells& cells, int sets);

/// Aligned columns for a terminal.
std::string to_text(const std::vector<LanguageRow>& rows);

/// Figure 8: a panel for each algorithm, accuracy against size.
///
/// smallest, largest   sizes of the training
Figure language_accuracy(const std::vector<LanguageRow>& rows, const std::vector<LanguageRow>& totals, int smallest,
                         int largest);

}  // namespace softcheck::experiments
