#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "models/bounds/head_certificate.hpp"

namespace softcheck::models {

/// Layers first ... last, both of them.
struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

struct CheckpointJob {
  std::vector<const HeadDescription*> heads;  // in the model's order
  CertifyOptions options;
  unsigned threads = 1;  // >= 1
  /// Called by one thread at a time, with each head's certificate as it is done, in any order.
  std::function<void(std::size_t place, const HeadCertificate& certificate)> done;
  std::function<bool()> stop;  // asked between heads: true ends the work with what is done
};

/// Certificates of the heads of a job, in its order; those that a stop left out have no value.
///
/// throws   what certify_head throws, of the first head that fails
std::vector<std::optional<HeadCertificate>> certify_heads(const Checkpoint& checkpoint, const ModelDescription& model,
                                                          const CheckpointJob& job);

}  // namespace softcheck::models
