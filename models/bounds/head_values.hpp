#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/bounds/affine_image.hpp"
#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {

/// Queries or keys of a head before they are rotated: everything that a normalisation lets them be, however deep the
/// layer lies and whatever the layers below compute (theory/norm_ellipsoid.hpp).
struct ProjectionValues {
  AffineImage image;               // (head_dim): M = W diag(gain), for a LayerNorm each row less its mean
  numerics::Enclosure sigma;       // of W as it is stored; with a head norm: of its gains
  numerics::Enclosure bias_norm;   // |b|
  numerics::BallMatrix gains;      // (head_dim, 1) of a head norm; else empty
  numerics::Enclosure input_norm;  // max |gain| sqrt(d) + |offset|: what Proposition 3.1 multiplies sigma by
};

/// q = A z + a, or k = B z + b, of the norm's unit before its gain: what ProjectionValues is the image of.
struct HeadMap {
  numerics::BallMatrix linear;    // A^T (d, head_dim)
  numerics::BallMatrix constant;  // a (head_dim, 1)
};

/// Reads and folds the projections of a layer's heads, one at a time. Keeps the last key projection and norm: heads
/// that share them share the work.
class HeadReader {
 public:
  explicit HeadReader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  ProjectionValues query(const HeadDescription& head);
  const ProjectionValues& key(const HeadDescription& head);
  /// The key of a head with turned_key, turned coordinates first: an ellipsoid around both parts, as if each had an
  /// input of its own. Its shares are the best ones for this query.
  ProjectionValues two_part_key(const HeadDescription& head, const ProjectionValues& query);
  /// The maps themselves, of a head without a norm of its own.
  HeadMap query_map(const HeadDescription& head) {
    return folded(*head.input_norm, stored(head.query), head.query_bias);
  }
  HeadMap key_map(const HeadDescription& head) { return folded(key_norm(head), stored(head.key), head.key_bias); }
  /// The sink's score.
  std::optional<double> sink(const HeadDescription& head) const;
  /// What is added to the logits, by bucket of distances.
  Eigen::VectorXd distance_bias(const DistanceBias& bias) const;

 private:
  struct Norm {
    numerics::BallMatrix gain, offset;  // (d, 1)
    numerics::Enclosure input_norm;
  };
  const Norm& norm(const InputNorm& description, std::int64_t width);
  Eigen::MatrixXd numbers(const std::string& name, IndexRange rows, IndexRange columns) const;
  Eigen::VectorXd vector(const VectorPlace& place) const {
    return numbers(place.tensor, {0, 1}, place.entries).transpose();
  }
  numerics::BallMatrix stored(const MatrixPlace& matrix) const;
  static const InputNorm& key_norm(const HeadDescription& head) {
    return head.key_norm ? *head.key_norm : *head.input_norm;
  }
  HeadMap folded(const InputNorm& input, const numerics::BallMatrix& weights, const VectorPlace& bias);
  ProjectionValues projection(const InputNorm& input, const MatrixPlace& matrix, const VectorPlace& bias);
  ProjectionValues normed(const VectorPlace& gain, bool plus_one, std::int64_t width) const;

  const Checkpoint& checkpoint_;
  std::string norm_name_, key_name_;
  Norm norm_;
  ProjectionValues key_;
};

}  // namespace softcheck::models
