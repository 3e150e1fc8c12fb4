#pragma once

#include <string>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::proptests {

/// SHA-256s of what a layer's certificate is about.
struct CheckpointDigests {
  /// Covers the configuration, the names, types and shapes of all tensors, and the first 4096 bytes of each: equal for
  /// all layers of a checkpoint, and cheap even for hundreds of gigabytes. It distinguishes trainings, but not files
  /// that differ in a few numbers.
  std::string checkpoint;
  /// Covers the configuration and every byte of the tensors that the layer's certificate reads.
  std::string layer;
};

/// vocabulary   as in tensors_of_layer
/// throws       as Checkpoint::read
CheckpointDigests checkpoint_digests(const models::Checkpoint& file, const models::ModelDescription& model, int layer,
                                     bool vocabulary);

}  // namespace softcheck::proptests
