#pragma once

#include <cstdint>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/observed_heads.hpp"
#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {

/// What a description says that a head computes, evaluated in plain doubles with a bound on how far a float32
/// computation can lie from it. None of it is used by the models folder.
class DescribedHead {
 public:
  /// epsilon    of the norms, which the description does not hold: no bound depends on it
  /// list       which of the rotary's frequency lists the model uses for this input
  DescribedHead(const Checkpoint& checkpoint, const HeadDescription& head, double epsilon, std::size_t list);

  /// Rows (positions) of head_dim numbers in the order of the head's coordinates, rotated.
  ///
  /// input    (positions, hidden), what the norm before the projections reads
  std::vector<std::vector<Float32Bound>> queries(const ObservedTensor& input) const;
  std::vector<std::vector<Float32Bound>> keys(const ObservedTensor& input) const;
  /// Of a head with turned_key, from what both norms read.
  std::vector<std::vector<Float32Bound>> keys(const ObservedTensor& input, const ObservedTensor& turned_input) const;
  /// scale q . k, capped; without what is added by distance.
  Float32Bound score(const std::vector<Float32Bound>& query, const std::vector<Float32Bound>& key) const;
  /// What is added to a score by distance.
  ///
  /// farthest   distance that has a bucket for itself and all farther ones
  double distance_bias(std::int64_t query, std::int64_t key, double farthest) const;
  /// Whether a query attends to a key.
  bool attends(std::int64_t query, std::int64_t key) const;
  /// The sink's score; the head has one.
  double sink() const;

 private:
  struct Side {
    const std::optional<InputNorm>& norm;
    MatrixPlace matrix;
    VectorPlace bias, norm_gain;
    std::int64_t norm_width = 0;
    std::int64_t head = 0;  // among those that are normalised together
  };
  std::vector<std::vector<Float32Bound>> side_rows(const Side& side, const ObservedTensor& input) const;
  std::vector<Float32Bound> normalised(const std::optional<InputNorm>& norm, const ObservedTensor& input,
                                       std::int64_t position) const;
  std::vector<Float32Bound> projected(const Side& side, const std::vector<Float32Bound>& normalised_input) const;
  std::vector<Float32Bound> rotated(std::vector<Float32Bound> row, std::int64_t position) const;
  std::vector<double> numbers(const VectorPlace& place) const;

  const Checkpoint& checkpoint_;
  const HeadDescription& head_;
  double epsilon_;
  std::size_t list_;
};

}  // namespace softcheck::models
