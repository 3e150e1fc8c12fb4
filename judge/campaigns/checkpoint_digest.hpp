#pragma once

#include <string>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::proptests {

/// What a layer's certificate is about, as SHA-256s.
struct CheckpointDigests {
  /// Configuration, names, types and shapes of all tensors, and the first 4096 bytes of each: equal for all layers of a
  /// checkpoint, and cheap where it has hundreds of gigabytes. It tells two trainings apart, not two files that differ
  /// in a few numbers.
  std::string checkpoint;
  /// Configuration and every byte of the tensors that the layer's certificate reads.
  std::string layer;
};

/// vocabulary   as tensors_of_layer has it
/// throws       as Checkpoint::read does
CheckpointDigests checkpoint_digests(const models::Checkpoint& file, const models::ModelDescription& model, int layer,
                                     bool vocabulary);

}  // namespace softcheck::proptests
