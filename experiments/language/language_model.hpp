#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/language/language_layout.hpp"
#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

/// The positions of a text's tokens.
enum class Positions {
  rotary,      // 0, 1, 2, ...
  randomised,  // in training, sorted positions, one for each token, drawn from 0 ... most_positions - 1
               // (Ruoss et al. 2023); else as rotary
  none         // queries and keys are not turned
};
inline constexpr int most_positions = 8192;

std::string to_string(Positions positions);
/// throws   std::invalid_argument that lists the words
Positions parse_positions(const std::string& word);

/// How scores become weights, in every head: the rows of head_weights, in their order.
enum class HeadWeights {
  softmax,
  log_n,  // softmax of scores times ln n / ln log_n_unit for a query that sees n keys (Chiang and Cholak 2022)
  sink,   // softmax with one more item of score 0 and value 0 (Miller 2023)
  line,   // softmax of scores times max(1, line_start + line_slope H), H the entropy of their softmax, nats
  entmax  // entmax-1.5 (Peters, Niculae and Martins 2019)
};
struct HeadWeightsRow {
  HeadWeights weights;
  const char *word, *meaning;
};
inline constexpr std::array head_weights{HeadWeightsRow{HeadWeights::softmax, "softmax", ""},
                                         HeadWeightsRow{HeadWeights::log_n, "log-n", " (scores grow with the keys)"},
                                         HeadWeightsRow{HeadWeights::sink, "sink", " (an item of score 0 beside them)"},
                                         HeadWeightsRow{HeadWeights::line, "line", " (scores grow with their entropy)"},
                                         HeadWeightsRow{HeadWeights::entmax, "entmax", ""}};
inline constexpr double log_n_unit = 256;  // the number of keys in a text of training
/// The line that was fitted to the max-retrieval networks (docs/experiments/figures.md, figure 6): unlike Fig. 4's
/// polynomial it never falls with H.
inline constexpr double line_start = 0.346, line_slope = 0.888;

/// Whether a kernel computes attention with these weights; else the lane does (root_attention.inl).
constexpr bool has_kernel(HeadWeights weights) { return weights != HeadWeights::entmax; }
/// Whether they can also have Fig. 4's temperature. The line is a temperature.
constexpr bool takes_temperature(HeadWeights weights) { return has_kernel(weights) && weights != HeadWeights::line; }

std::string to_string(HeadWeights weights);
/// "softmax, log-n, sink, line or entmax", each with its meaning if that is wanted.
std::string list_of_head_weights(bool meanings);
/// throws   std::invalid_argument that lists the words
HeadWeights parse_head_weights(const std::string& word);

/// The design of a language model, without its parameters.
struct LanguageDesign {
  LanguageShape shape = {};
  Positions positions = Positions::rotary;
  bool adaptive = false;  // Fig. 4's temperature, in every head
  HeadWeights weights = HeadWeights::softmax;

  friend bool operator==(const LanguageDesign&, const LanguageDesign&) = default;
};

/// throws   std::invalid_argument if sizes are not positive, heads do not divide the width into even parts, or there
///          are more layers than most_layers
void check_shape(const LanguageShape& shape);
/// throws   std::invalid_argument also if the weights do not take the temperature
void check_design(const LanguageDesign& design);

/// Matrices normal with variance 1 / inputs (embeddings: 1 / width), those that add to a token's vector
/// (2 layers)^(-1/2) of that; gains 1.
Floats initial_language_parameters(const LanguageShape& shape, RandomWords& words);

/// Cosines and sines of each pair of a head's numbers at each position: (most_positions, head_width / 2) each, in
/// double before they are rounded.
template <class Real>
struct TurnTable {
  explicit TurnTable(const LanguageShape& shape);
  std::vector<Real, AlignedAllocator<Real>> cosines, sines;
};
extern template struct TurnTable<float>;
extern template struct TurnTable<double>;

/// Texts of any lengths, one after the other, and their predictions.
struct TokenBatch {
  std::vector<int> ids = {};
  std::vector<int> positions = {};            // empty: none
  std::vector<std::int64_t> begins = {0};     // of each text, and the end of the last
  std::vector<int> places = {}, labels = {};  // tokens whose next one is predicted, and that one
  std::vector<std::size_t> cells = {};        // of each text in a curriculum; empty: without one

  int tokens() const { return static_cast<int>(ids.size()); }
  int texts() const { return static_cast<int>(begins.size()) - 1; }
  int targets() const { return static_cast<int>(places.size()); }
};

/// Adds a text whose characters from first >= 1 on are to be predicted. Positions are 0, 1, 2, ...
void add_text(TokenBatch& batch, const std::string& text, std::size_t first);

/// Gives every token its position for training, by the kind of positions.
void place_for_training(TokenBatch& batch, Positions positions, RandomWords& words);

}  // namespace softcheck::experiments
