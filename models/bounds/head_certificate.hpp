#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/bounds/head_bounds.hpp"

namespace softcheck::models {

struct CertifyOptions {
  double eps = 0.1;         // what a dispersed coefficient is below, in (0, 1)
  std::uint64_t items = 0;  // of the entropy floor and the largest coefficient; 0: the model's context
  bool context = false;     // bound rotary heads for inputs of so many items, too: a factorisation for each lag
};

/// Formats whose overflow is asked about, and their largest finite numbers.
struct OverflowFormat {
  std::string name;  // of a format, behind "f8_" if that has 8 bits
  double largest;
  int bits;
};
const std::vector<OverflowFormat>& overflow_formats();

/// What kind of input a head is certified for.
enum class HeadDomain { layer_norm, rms_norm, qk_norm, qk_norm_full };
const char* to_string(HeadDomain domain);

/// Everything that is proved about one head, for every length, every token and whatever the other layers compute
/// (docs/models.md). Intervals are outward: the number that is meant lies between lower and upper.
struct HeadCertificate {
  HeadDescription head;
  HeadDomain domain = HeadDomain::layer_norm;
  std::optional<double> sink;
  numerics::Enclosure scale;                   // of q . k, rotary factor and all
  numerics::Enclosure product, folded, joint;  // the forms' values; a softcap is in them
  Supremum spread;                             // best
  std::optional<Supremum> context_spread;      // best of inputs of no more than items, which never holds of all lengths
  Supremum logit;                              // max |e| behind softcap
  Supremum score;                              // max |q . k| before scale and softcap
  std::optional<Supremum> enumerated_spread;   // over the inputs of the first layer that a text can have
  std::optional<Supremum> enumerated_logit;
  std::uint64_t items = 0;              // of what follows: context, window or --n, the least
  Supremum dispersion_length_log10;     // N(eps) is between: of the spread's two ends
  Supremum entropy_floor;               // least entropy, in nats, of items with such a spread
  Supremum largest_coefficient;         // largest coefficient that one of the items can have
  Supremum identity_length_log10;       // from where adaptive temperature is 1
  bool dispersed_within_items = false;  // N(eps) <= items, for certain; never said of a window

  /// Is the largest score, or logit, certainly below the format's largest number?
  bool score_fits(const OverflowFormat& format) const { return score.upper < format.largest; }
  bool logit_fits(const OverflowFormat& format) const { return logit.upper < format.largest; }
};

/// throws   as HeadReader does; std::range_error where the head's numbers leave the range of double
HeadCertificate certify_head(const HeadDescription& head, const ModelDescription& model, HeadReader& reader,
                             const CertifyOptions& options);

}  // namespace softcheck::models
