#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {

// A network as a Coq file: its numbers, and statements about it that theory/proofs/certified_network/ checks by
// computing. The statements are proposals: Coq checks them, and refuses wrong numbers.

/// One cell of priorities in units of 2^-14: [at - half, at + half].
struct ProofCell {
  std::int64_t at = 0;
  std::int64_t half = 0;
};

/// A set [a, b, ..., b] that the network answers wrongly from wrong_from items on, and rightly with two (Corollary
/// B.1). Priorities and the query in units of 2^-14.
struct ProofMistake {
  std::int64_t query = 0;
  std::int64_t odd = 0;  // a's priority, the larger one
  int odd_class = 0;
  std::int64_t other = 0;  // b's
  int other_class = 0;
  std::uint64_t wrong_from = 0;
  int cells = 0;  // of a's coefficient, from 0 to that of wrong_from items
};

/// What the file states. Bounds of the spread are in units of 2^-10.
struct ProofClaims {
  std::vector<std::vector<ProofCell>> cells;  // of each class, from priority 0 to 1 without a gap
  std::int64_t product = 0;                   // Proposition 3.1's product of singular values
  std::int64_t folded = 0;                    // the form with W_K^T W_Q as one matrix
  std::string length;  // the smallest number of items below 1/10 at the folded spread, in decimals
  double log10_length = 0;
  std::uint64_t items = 0;          // of the entropy floor; fewer than two: none is stated
  std::int64_t floor_mantissa = 0;  // floor_mantissa 2^-floor_bits nats
  std::int64_t floor_bits = 0;
  std::optional<ProofMistake> mistake;  // empty: the file states none
};

/// The bounds as numbers.
double product_bound(const ProofClaims& claims);
double folded_bound(const ProofClaims& claims);
double entropy_floor(const ProofClaims& claims);

/// Chooses cells and bounds that Coq's checker will accept, by a few percent of its own forms.
///
/// parameters   (parameter_count), finite
/// throws       std::range_error when the spread is too large for the checker (beyond 2^20), or NaN
ProofClaims propose_claims(const Floats& parameters, std::uint64_t items);

/// The set of certify_error, the claim model.error, with as few cells as Coq's checker will accept.
///
/// returns  nothing if find_collapse has none, the network errs on two items already, or the checker would not
/// accept it
std::optional<ProofMistake> propose_mistake(const Floats& parameters);

/// The Coq file.
///
/// name   of the network, for the file's opening comment
std::string proof_text(const Floats& parameters, const ProofClaims& claims, const std::string& name);

}  // namespace softcheck::experiments
