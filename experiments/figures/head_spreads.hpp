#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::experiments {

struct HeadSpreadOptions {
  std::string model;                  // as models::open_checkpoint takes it
  std::string tokens;                 // as models::read_token_ids takes it
  softcheck_kernel kernel = nullptr;  // softcheck_attention
  unsigned threads = 1;
  std::function<void(const std::string& text)> progress = {};
};

/// What the rows of one head have, of all queries that see two keys or more, beside the head's certificate.
struct HeadSpread {
  std::int64_t layer = 0, head = 0;
  bool has_window = false;
  std::size_t rows = 0;
  double largest = 0, sum = 0, last = 0;      // spreads: of any row, of all, of the last input's last row
  double certified_least = 0, certified = 0;  // some input reaches the first, none exceeds the second
  double largest_logit = 0;                   // in size
  double certified_logit = 0;
  double entropy_sum = 0, coefficient_sum = 0;  // coefficient: the row's largest
  double first_token_sum = 0;                   // the coefficient of the input's first token
  /// Of the rows of three keys or more: the largest share of the spread that Lemma 2.1's exponent needs, above and
  /// below, in the paper's form and in the sharp one.
  double upper = 0, lower = 0, sharp_upper = 0, sharp_lower = 0;

  double mean(double of) const { return of / static_cast<double>(rows); }
};

struct HeadSpreads {
  std::vector<HeadSpread> heads;  // layer by layer, head by head
  std::size_t decided = 0;        // rows whose bracket of Lemma 2.1 is proved
  /// Each head's largest spread and logit against its certificate; and what is not proved of the rows.
  std::vector<numerics::Certificate> certificates;
};

/// Runs the model on tokens and looks at every row of every head. Lemma 2.1's sharp bracket of each row, which implies
/// the paper's, is decided for the row's logits as doubles: by sums with a rounding bound, or where these leave it open
/// by enclosures.
///
/// A head with a sink s has coefficients e^(e_k) / (sum_j e^(e_j) + e^s): those of softmax of the n + 1 logits e_1 ...
/// e_n, s, the last left out. So Lemma 2.1 holds for them with n + 1 items and the spread max(M, s) - min(m, s), and
/// is decided for that row; entropies, coefficients and shares of the exponent are that row's, too. The spreads shown
/// are the items'.
///
/// throws   as models::open_checkpoint, describe, certify_heads, read_token_ids and ForwardPass; std::invalid_argument
///          if no input has two ids
HeadSpreads spreads_of_heads(const HeadSpreadOptions& options);

/// Least, largest, mean and standard deviation of the heads, by each reading of "spread", as text.
std::string to_text(const HeadSpreads& spreads);

/// spreads.csv, and a picture: of every head by layer the mean and largest observed spread, and the certified one.
Figure spreads_figure(const std::string& name, const HeadSpreads& spreads);

}  // namespace softcheck::experiments
