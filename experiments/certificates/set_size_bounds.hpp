#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/certificates/network_cells.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::experiments {

/// Set sizes from which something is certain, of logits with a spread of at most delta.
struct CertainSize {
  numerics::Certificate certificate;
  double log10_size = 0;  // rounded up
};

/// model.dispersion_length: at N items, and so at more, every coefficient is below eps (Lemma 2.1, sharp).
CertainSize certify_dispersion_length(double spread, double eps);

/// model.adaptive_identity: from N items on the entropy is beyond the active interval and adaptive temperature is 1.
CertainSize certify_adaptive_identity(double spread);

/// model.entropy_floor: the least entropy of n items of that spread is not above the smallest entropy of sets of n
/// items drawn at random, which is also enclosed (for n > 65536 no sets are drawn, and ln n takes its place).
numerics::Certificate certify_entropy_floor(const NetworkCells& network, double spread, std::uint64_t n,
                                            std::uint64_t seed);

/// An estimate, no certificate: the first n at which the largest coefficient of a growing set falls below eps, items
/// and query drawn as in training; the median over sets, and the order statistics that hold the true median with the
/// confidence given.
struct TypicalLength {
  double confidence = 0.95;
  int sets = 0;
  std::uint64_t lower = 0, median = 0, upper = 0;
  std::uint64_t longest = 0;  // where drawing stops: a length equal to it means "at least"
};
TypicalLength estimate_typical_length(const NetworkCells& network, double eps, std::uint64_t seed);

/// The first n at which the largest softmax coefficient of the first n logits that draw gives falls below eps, or
/// longest.
std::uint64_t first_passage(const std::function<double()>& draw, double eps, std::uint64_t longest);

/// Rank r (from 1) such that the r-th smallest of sets values is below the median of their distribution with a
/// probability of at most (1 - confidence) / 2; its mirror is above it. 0 if there are too few.
int median_rank(int sets, double confidence);

}  // namespace softcheck::experiments
