#pragma once

#include "models/read/checkpoint.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::models {

/// A stored tensor's bytes.
struct TensorBytes {
  ByteSource source;
  std::string file;         // for errors
  std::uint64_t begin = 0;  // of its first element in the file
};

/// Checkpoint::read of a tensor at a place in a file: whole rows in pieces of at most a mebibyte, part of each row by a
/// read each.
///
/// throws   as Checkpoint::read does
TensorBlock read_tensor_block(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows,
                              IndexRange columns);

}  // namespace softcheck::models
