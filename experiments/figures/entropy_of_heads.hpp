#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "models/forward/token_ids.hpp"

namespace softcheck::experiments {

/// The options for a checkpoint of a language model.
struct HeadEntropyOptions {
  std::string model;                  // as models::open_checkpoint takes it
  std::string tokens = {};            // as models::read_token_ids takes it; "": ids are drawn
  std::uint64_t seed = 1;             // of the draw
  int inputs = 4;                     // drawn, >= 1
  bool whole = false;                 // each input as it is, instead of its first 16, 32, ... ids
  std::int64_t largest = 0;           // number of items; 0: the model's context
  softcheck_kernel kernel = nullptr;  // softcheck_attention
  unsigned threads = 1;
  std::function<void(const std::string& text)> progress = {};
};

/// The entropies of one head's coefficients over a number of items, in nats, and their proved bounds.
struct HeadEntropy {
  std::int64_t layer = 0;
  std::int64_t head = 0;
  std::int64_t items = 0;
  std::int64_t seen = 0;  // of the items: fewer where a window leaves some out
  bool has_window = false;
  std::size_t rows = 0;            // queries, each of which sees exactly these items
  double sum = 0;                  // of their entropies
  double least = 0, largest = 0;   // of them
  double largest_coefficient = 0;  // of all the rows
  double certified_floor = 0;      // no input's entropy over so many items is below it
  double spread_sum = 0;           // of their logits
  double first_token_sum = 0;      // of the coefficients of the input's first token; NaN: not known

  double mean() const { return mean(sum); }
  double mean(double of) const { return of / static_cast<double>(rows); }
};

/// Runs the model on tokens: the first 16, 32, ... ids of each input, as far as it has them, or its last query alone
/// where inputs are whole. Every query of BERT sees all items. Of a causal model the queries that see 16, 32, ... items
/// are used. Drawn ids are uniform over the vocabulary.
///
/// returns  layer by layer, head by head, fewest items first
/// throws   as models::open_checkpoint, describe, certify_heads, read_token_ids and ForwardPass;
///          std::invalid_argument if no input has 16 ids
std::vector<HeadEntropy> entropies_of_heads(const HeadEntropyOptions& options);

/// A Markdown table, a line for each number of items: means over the heads of the first layer, over those with a window
/// and over those without.
std::string to_text(const std::vector<HeadEntropy>& points);

/// Figure 3: the mean entropy of every head against the number of items, a panel for each layer, below ln n and above
/// the certified floor; and the mean coefficient of the first token where it is known.
///
/// name     of the model
/// points   as entropies_of_heads returns them
Figure entropy_of_heads(const std::string& name, const std::vector<HeadEntropy>& points);

}  // namespace softcheck::experiments
