#pragma once

#include <string>
#include <vector>

#include "models/architectures/description.hpp"

namespace softcheck::models {

/// Names of the tensors that the certificate of one layer reads, sorted, each once: projections, biases, norms, sinks.
///
/// vocabulary   what layer 0 can read is enumerated, too: its tables of tokens, positions and types
std::vector<std::string> tensors_of_layer(const ModelDescription& model, int layer, bool vocabulary);

}  // namespace softcheck::models
