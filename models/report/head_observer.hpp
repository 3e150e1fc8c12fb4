#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "models/forward/forward_pass.hpp"
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

/// What a job of observing asks and tells.
struct TokenObservation {
  std::string file = {};  // of the ids, for witnesses
  unsigned threads = 1;
  std::function<void(std::int64_t layer)> progress = {};  // before a layer's heads are looked at
  std::function<bool()> stop = {};                        // asked between layers: true ends the work with what is done
};

/// Runs a model on tokens up to the last layer in question and holds the queries and keys of its forward pass against
/// the certificates, as observe() does with recorded ones. They are taken as the exact numbers that the pass has.
///
/// certificates  of the heads in question
/// throws        as ForwardPass::run
Observation observe_tokens(const ForwardPass& pass, const std::vector<HeadCertificate>& certificates,
                           const TokenObservation& job);

}  // namespace softcheck::models
