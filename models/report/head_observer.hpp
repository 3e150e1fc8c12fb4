#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "models/report/observed.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::models {

/// Sees queries and keys of one head, input by input, and holds their logits against the head's certificate.
class HeadObserver {
 public:
  /// certificate   outlives the observer
  explicit HeadObserver(const HeadCertificate& certificate);

  /// queries, keys   (head_dim, n), rotated and normed as they meet each other; column i is the item at position i
  void add(const numerics::BallMatrix& queries, const numerics::BallMatrix& keys);

  /// Appends what was seen and its certificates, where a query saw two keys or more.
  ///
  /// place    of the certificate
  /// file     that the inputs came from, for witnesses
  void finish(std::size_t place, const std::string& file, Observation& observation);

 private:
  const HeadCertificate& certificate_;
  ObservedHead result_;
  std::vector<double> spreads_, widest_;
};

}  // namespace softcheck::models
