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

/// Checkpoint::read of a tensor that stands in a file row by row, without gaps, and wholly. About a mebibyte of the
/// file is in memory at a time; parts of rows that lie far apart take a read each.
///
/// tensor   rows of whole blocks
/// throws   as Checkpoint::read does
TensorBlock read_tensor_block(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows,
                              IndexRange columns);

}  // namespace softcheck::models
