#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/matrices/matrix.hpp"

namespace softcheck::theory {
struct NormedHead;
}

namespace softcheck::proptests {

/// A head behind a norm, and the vectors that enter the norm, as in Theorem 2.2 without a vocabulary; vectors are
/// matrices with one column.
struct NormedHeadCase {
  bool layer_norm = true;   // else RMSNorm
  double norm_epsilon = 1;  // > 0
  Matrix gain, shift;       // (d, 1)
  Matrix query, key;        // W_Q, W_K (width, d)
  Matrix query_bias;        // (width, 1)
  Matrix key_bias;          // (width, 1)
  Matrix inputs;            // (items, d): the last one is also the query's

  friend bool operator==(const NormedHeadCase&, const NormedHeadCase&) = default;
};

/// The head with scale 1/sqrt(width).
theory::NormedHead normed_head(const NormedHeadCase& head);

struct NormedHeadOptions {
  std::size_t max_width = 6;
  std::size_t max_dimension = 12;  // d
  std::size_t max_items = 8;
};

/// Weights from the families of a ProjectionCase; a quarter of the cases has no shift and biases, half have gains of 1.
/// norm_epsilon is a power of two in [2^-40, 4].
///
/// throws   std::invalid_argument if a size is 0
rc::Gen<NormedHeadCase> normed_head_cases(const NormedHeadOptions& options = {});

/// RMSNorm instead of LayerNorm, norm_epsilon 1, then sizes dropped by halves and entries simplified as in a matrix.
rc::Seq<NormedHeadCase> shrink_normed_head_case(const NormedHeadCase& head);

/// "normed layer_norm eps=0x1p-17 gain=2x1:0x1p+0,... shift=... query=... key=... query_bias=... key_bias=...
/// inputs=..."
std::string to_text(const NormedHeadCase& head);
void from_text(std::string_view text, NormedHeadCase& head);
/// Number of entries.
std::size_t size_of(const NormedHeadCase& head);
void showValue(const NormedHeadCase& head, std::ostream& stream);

}  // namespace softcheck::proptests
