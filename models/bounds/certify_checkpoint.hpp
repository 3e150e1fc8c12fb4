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

/// The widest spread and largest |logit| of the first layer's heads over the inputs that a text can have: every token,
/// with every position and type that the model adds. Upper ends are at most those of all inputs of the norm.
///
/// heads     those of layer 0 get enumerated_spread and enumerated_logit; the others stay
/// threads   >= 1
/// stop      true ends the work: heads that are not done have neither
/// throws    UnsupportedTensorFile where the model has no table of inputs, or its first layer caps or norms behind the
///           projections; what reading tensors throws
void enumerate_first_layer(const Checkpoint& checkpoint, const ModelDescription& model,
                           const std::vector<HeadCertificate*>& heads, unsigned threads,
                           const std::function<bool()>& stop);

}  // namespace softcheck::models
