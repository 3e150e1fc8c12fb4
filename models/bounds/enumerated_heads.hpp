#pragma once

#include <functional>
#include <vector>

#include "models/bounds/head_certificate.hpp"

namespace softcheck::models {

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
