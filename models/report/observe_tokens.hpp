#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/report/observed.hpp"

namespace softcheck::models {

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
