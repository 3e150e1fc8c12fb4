#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/coordinate_box.hpp"
#include "theory/norm_ellipsoid.hpp"
#include "theory/scalar.hpp"
#include "theory/small_transformer.hpp"

namespace softcheck::theory {

// Theorem 2.2: over a finite vocabulary, with queries and keys that are continuous compositions of feedforward and
// softmax attention layers, every attention coefficient falls below any epsilon > 0 once the sequence is longer than
// some n0(epsilon). Here the logits of every head of every layer are bounded for all sequences at once, by boxes, and
// with their spread delta the theorem becomes explicit:
//
//   n0 = e^(delta/theta) / epsilon                                 (the paper's, from eq. (6))
//   n0 = 1 + e^(delta/theta) (1 - epsilon) / epsilon               (sharp: one logit delta above all others)

/// n above which every coefficient is < epsilon; delta >= 0, theta > 0, 0 < epsilon < 1.
template <Scalar T>
T dispersion_length_paper(const T& spread, const T& theta, const T& epsilon) {
  return exp(spread / theta) / epsilon;
}

/// The same, attained: at a real n equal to it the row [delta, 0, ..., 0] has the coefficient epsilon.
template <Scalar T>
T dispersion_length_sharp(const T& spread, const T& theta, const T& epsilon) {
  return T(1) + exp(spread / theta) * (T(1) - epsilon) / epsilon;
}

/// ln of the paper's length: it stays a double where the length itself is beyond every format.
template <Scalar T>
T log_dispersion_length(const T& spread, const T& theta, const T& epsilon) {
  return spread / theta - log(epsilon);
}

/// Smallest n for which every coefficient at that spread is < epsilon: floor(sharp) + 1, as a point enclosure, certain.
///
/// spread >= 0, theta > 0, epsilon in (0, 1), spread/theta <= 240: then n < 2^400 and 512 bits decide the floor (an
/// integer is only met where the spread is 0 and the division exact, since e^x is irrational at every rational x != 0)
/// throws   std::invalid_argument
numerics::Enclosure smallest_dispersed_length(double spread, double theta, double epsilon);

/// floor(value()) + 1 as a point enclosure; value() is evaluated along the precision ladder until its floor is certain.
///
/// throws   std::invalid_argument when 512 bits do not tell
numerics::Enclosure smallest_integer_above(const std::function<numerics::Enclosure()>& value);

/// n as an integer, where it is one that fits.
std::optional<std::uint64_t> as_integer(const numerics::Enclosure& n);

/// What holds for all sequences over the vocabulary, of every length.
struct LayerBounds {
  Box inputs;                   // activations of every token at the input of the layer
  std::vector<double> spreads;  // upper bound of the spread of the logits, for each head
};
struct SpreadBounds {
  std::vector<LayerBounds> layers;
  Box outputs;        // activations after the last layer
  double spread = 0;  // the largest of them all
};
SpreadBounds bound_spreads(const SmallTransformer& model);

/// forward() at the working precision of the moment, each precision evaluated once.
class TraceLadder {
 public:
  TraceLadder(const SmallTransformer& model, const std::vector<Run>& runs)
      : model_(model), groups_(token_groups(model, runs)), witness_(describe(model, runs)) {}

  const SmallTransformer& model() const { return model_; }
  const std::vector<Run>& groups() const { return groups_; }
  const std::string& witness() const { return witness_; }
  const ForwardTrace<numerics::Enclosure>& now();
  const HeadProjection<numerics::Enclosure>& head_now(std::size_t layer, std::size_t head);
  numerics::Enclosure theta() const { return numerics::Enclosure(model_.shape.theta); }

 private:
  struct Step {
    ForwardTrace<numerics::Enclosure> trace;
    std::map<std::pair<std::size_t, std::size_t>, HeadProjection<numerics::Enclosure>> heads;
  };
  Step& step();

  const SmallTransformer& model_;
  std::vector<Run> groups_;
  std::string witness_;
  std::map<unsigned, Step> steps_;
};

/// theorem_2_2.boxed: for each layer (and after the last), every activation lies in its box.
std::vector<numerics::Certificate> certify_boxed(TraceLadder& trace, const SpreadBounds& bounds);

/// theorem_2_2.spread_bounded: for each head, max e_j - min e_j over the items each token sees is at most the bound.
std::vector<numerics::Certificate> certify_spreads(TraceLadder& trace, const SpreadBounds& bounds);

/// theorem_2_2.disperses: for each head, once n > e^(delta/theta)/epsilon with the bound for delta, every coefficient
/// is < epsilon. Decided for the tokens that see more than that many items; for the others it is vacuously true, and
/// they are skipped.
std::vector<numerics::Certificate> certify_dispersal(TraceLadder& trace, const SpreadBounds& bounds, double epsilon);

/// theorem_2_2.sharp_length: 1 + e^(delta/theta) (1 - epsilon)/epsilon <= e^(delta/theta)/epsilon.
numerics::Certificate certify_sharp_length(double spread, double theta, double epsilon);

/// The runs, the longest multiplied by a power of two, so that more than e^(spread/theta)/epsilon tokens are seen by
/// its tokens and by all that follow it.
///
/// throws   std::invalid_argument if that many tokens, 2^900, cannot be written down
std::vector<Run> lengthened(const SmallTransformer& model, std::vector<Run> runs, double spread, double epsilon);

/// All of the above.
std::vector<numerics::Certificate> check_theorem_2_2(const SmallTransformer& model, const std::vector<Run>& runs,
                                                     double epsilon);

// A finite vocabulary is one way to bound the logits; a norm is another. If the queries and keys of a head are affine
// maps of LayerNorm or RMSNorm of any real vectors, its inputs lie in two balls (norm_ellipsoid.hpp). So its spread is
// below a number that depends only on the weights, and beyond N(epsilon) of that number it disperses, for any earlier
// layers, tokens and length.

/// q = W_Q (g z + f) + b_Q and k = W_K (g z' + f) + b_K, z and z' normalised; e = s q . k.
struct NormedHead {
  Norm norm = Norm::layer_norm;
  double norm_epsilon = 1e-5;            // > 0
  Eigen::VectorXd gain, shift;           // (d) g, f
  Eigen::MatrixXd query, key;            // (head width, d) W_Q, W_K
  Eigen::VectorXd query_bias, key_bias;  // (head width) b_Q, b_K
  double scale = 1;                      // s > 0
};

/// Upper bound of the spread of the logits of every query over all keys: ellipsoid_spread() with rq = rk = d.
///
/// throws   std::invalid_argument when shapes do not fit, a number is not finite, norm_epsilon or the scale is not > 0
double normalised_spread(const NormedHead& head, const SigmaUpper& sigma = certified_sigma());

/// theorem_2_2.normalised, twice: the spread of the query's logits over the items is at most normalised_spread(), given
/// as spread; and once more copies of the first item make n > N(epsilon), every coefficient is below epsilon.
///
/// inputs   (items, d): h of each item, at least one          query_input   (d): h of the query
/// throws   std::invalid_argument as normalised_spread(), or where N(epsilon) is 2^900 or more
std::vector<numerics::Certificate> certify_normalised(const NormedHead& head, const Eigen::VectorXd& query_input,
                                                      const Eigen::MatrixXd& inputs, double spread, double epsilon);

}  // namespace softcheck::theory
