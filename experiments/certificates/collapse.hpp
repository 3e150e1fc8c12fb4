#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/certificates/logit_bounds.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::experiments {

// Corollary B.1 of one network: a set [a, b, ..., b]. The right answer is the class of a, whose priority is the
// largest; with enough items b the network answers the class of b.

/// The set, n items long, and the lengths at which the network is wrong on it.
struct CollapseSet {
  double query = 0;
  ItemPoint odd;                 // a
  ItemPoint other;               // b, of another class
  bool right_at_two = false;     // proved: on [a, b] the network answers the class of a
  std::uint64_t wrong_from = 0;  // proved: on every set of at least this length it answers the class of b
};

/// Looks for a pair a, b on a grid. It prefers pairs on which the network is right at n = 2, and then pairs whose
/// tensors of 16-bit formats collapse at a length slightly below longest.
///
/// returns  nothing if the network answers the class of b on no set [b, ..., b] of the grid
std::optional<CollapseSet> find_collapse(const NetworkCells& network, std::uint64_t longest);

/// model.error: on the set of wrong_from items and on every longer one, the score of b's class exceeds every other.
///
/// throws   std::invalid_argument unless a has the larger priority and another class: else that is no error
numerics::Certificate certify_error(const NetworkCells& network, const CollapseSet& set);

/// Attention's inputs for the two items and the query, each number rounded to a format.
struct CollapseTensors {
  numerics::Format format = numerics::Format::f32;
  Eigen::VectorXd query;                              // W_Q Q(y) + b_Q; logits are multiplied by scale
  Eigen::VectorXd odd_key, other_key;                 // W_K h + b_K
  Eigen::VectorXd odd_value, other_value;             // W_V h + b_V
  double scale = 0;                                   // 1/sqrt(128), to nearest
  double spread = 0;                                  // upper bound of the odd item's logit less the other's, >= 0
  std::optional<numerics::Enclosure> vanishes_from;   // smallest n at which alpha_1 < u for certain
  std::optional<numerics::Enclosure> collapses_from;  // smallest n at which every coordinate rounds to that of b
};
/// The lengths are missing if the format overflows, or if the logits differ by more than 200.
CollapseTensors collapse_tensors(const NetworkCells& network, const CollapseSet& set, numerics::Format format);

/// model.collapse.FORMAT: at collapses_from the exact attention output of the tensors rounds to b's value in every
/// coordinate (theory/corollary_b_1.hpp), alpha_1 being below u at vanishes_from; and the class of that value is b's.
std::vector<numerics::Certificate> certify_collapse(const NetworkCells& network, const CollapseSet& set,
                                                    const CollapseTensors& tensors);

/// Runs the kernel on n items; nothing if it refuses.
std::optional<Eigen::VectorXd> run_attention(softcheck_kernel kernel, const CollapseTensors& tensors, std::uint64_t n);

/// model.collapse.FORMAT.kernel: if the kernel's output goes through the rest of the network, b's class has the largest
/// score. With bits_of_other also: no coordinate of the output differs from b's value.
std::vector<numerics::Certificate> certify_kernel_output(const NetworkCells& network, const CollapseSet& set,
                                                         const CollapseTensors& tensors, const Eigen::VectorXd& output,
                                                         std::uint64_t n, bool bits_of_other);

/// Scores (10, columns) of attention values (128, columns), after the output projection and the head.
BallMatrix scores_of_values(const NetworkCells& network, const BallMatrix& values);

/// score of a class less the largest of the others, in the column where it is least.
numerics::Enclosure least_margin(const BallMatrix& scores, int class_index);

}  // namespace softcheck::experiments
